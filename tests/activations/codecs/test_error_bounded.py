"""ErrorBounded: the bound for any element, the same on every instruction set, and what it takes."""

from __future__ import annotations

import math
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from smooth_maps import one_thread, smooth
from tensors import (
    FLOATS,
    ISAS,
    Fill,
    assert_same,
    bits_of,
    normal,
    odd_tensors,
    on_threads,
    sparse,
    using_isa,
)
from torch import Tensor

from halfbyte.activations.codecs import integer_pieces, kernels
from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.error_bounded import ErrorBounded
from halfbyte.activations.codecs.grid import grid_of
from halfbyte.activations.codecs.integer_pieces import Format
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import error_bounded as reference
from halfbyte.activations.codecs.zero_value import ZeroValue

__all__ = ["one_thread"]

CODERS = ("huffman", "fixed")
PREDICTORS = ("auto", "none", "lorenzo")
BOUNDS = (1e-45, 2.0**-126, 1e-30, 1e-8, 0.001, 0.03, 0.1, 0.5, 1.0, 3.0, 1e4, 1e30, 3e38, 1e300)


def zeros(*size: int) -> Tensor:
    return torch.zeros(size)


def assert_within(decoded: Tensor, x: Tensor, bound: float, *, signs: bool = False) -> None:
    """Finite elements within the bound, others bit for bit, zeros zero, and no other sign than before; of
    those with a sign, none is zero where signs are kept.
    """
    finite = x.isfinite()
    assert torch.equal(bits_of(decoded)[~finite], bits_of(x)[~finite])
    kept, original = decoded[finite].double(), x[finite].double()
    assert not bool(((kept - original).abs() > bound).any())
    assert not bool((bits_of(decoded)[x == 0] != 0).any())
    assert not bool((kept.sign() * original.sign() < 0).any())
    assert not signs or torch.equal(kept > 0, original > 0)


def there_and_back(flat: Tensor, form: Format, lags: tuple[int, ...] = ()) -> Tensor:
    """Coded even when that takes more bytes."""
    parts, used = integer_pieces.encode(flat, form, lags, fewest=len(lags))
    assert used == lags
    return integer_pieces.decode(parts, flat.numel(), form, used)


def in_torch(flat: Tensor, bound: float, *, signs: bool = False) -> Tensor:
    grid = grid_of(bound, signs=signs)
    integers, fits = reference.quantize(flat, grid)
    return torch.where(fits, reference.dequantize(integers, grid, flat.dtype), flat)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("signs", [False, True])
def test_every_number_of_16_bits_is_within_the_bound(
    isa: str, coder: str, dtype: torch.dtype, *, signs: bool
) -> None:
    x = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)
    with using_isa(isa):
        for bound in BOUNDS:
            decoded = there_and_back(x, Format(dtype, coder, grid_of(bound, signs=signs)))
            assert_within(decoded, x, bound, signs=signs)
            assert torch.equal(bits_of(decoded), bits_of(in_torch(x, bound, signs=signs)))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("signs", [False, True])
def test_numbers_of_32_bits_are_within_the_bound(isa: str, bound: float, *, signs: bool) -> None:
    x = torch.arange(0, 1 << 32, 65_537 * 3).to(torch.int32).view(torch.float32)
    near = (
        torch.arange(-300_000, 300_000).double() * bound / 2
    ).float()  # halves of steps, where rounding turns
    x = torch.cat([x, near, torch.nextafter(near, near + 1), torch.nextafter(near, near - 1)])
    with using_isa(isa):
        decoded = there_and_back(x, Format(torch.float32, "huffman", grid_of(bound, signs=signs)))
    assert_within(decoded, x, bound, signs=signs)
    assert torch.equal(bits_of(decoded), bits_of(in_torch(x, bound, signs=signs)))


@given(
    elements=st.lists(st.floats(width=32), max_size=60),
    bound=st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False),
    repeats=st.sampled_from([1, 9, 40]),
    isa=st.sampled_from(ISAS),
    coder=st.sampled_from(CODERS),
    lags=st.sampled_from([(), (1,), (1, 7), (3, 20, 100)]),
    dtype=st.sampled_from(FLOATS),
    signs=st.booleans(),
)
def test_any_elements_are_within_any_bound(
    *,
    elements: list[float],
    bound: float,
    repeats: int,
    isa: str,
    coder: str,
    lags: tuple[int, ...],
    dtype: torch.dtype,
    signs: bool,
) -> None:
    x = torch.tensor(elements, dtype=dtype).repeat(repeats)
    with using_isa(isa):
        form = Format(dtype, coder, grid_of(bound, signs=signs))
        parts, used = integer_pieces.encode(x, form, lags, fewest=len(lags))
        decoded = integer_pieces.decode(parts, x.numel(), form, used)
    assert_within(decoded, x, bound, signs=signs)
    assert torch.equal(bits_of(decoded), bits_of(in_torch(x, bound, signs=signs)))


@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("predictor", PREDICTORS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fill", [normal(), sparse(), zeros])
def test_every_layout_comes_back_and_every_instruction_set_agrees(
    coder: str, predictor: str, dtype: torch.dtype, fill: Fill
) -> None:
    codec = ErrorBounded(0.01, predictor, coder)
    for x in odd_tensors(fill, dtype):
        expected = None
        for isa in ISAS:
            with using_isa(isa):
                packed = codec.encode(x)
                decoded = packed.decode()
            assert decoded.stride() == packed.layout.restored_stride
            flat = Layout(x).flat(x)
            if packed.codec == codec:
                assert_same(decoded, packed.layout.restore(in_torch(flat, 0.01)), like=x)
            else:
                assert_same(decoded, x, like=x)
            expected = expected or packed
            assert packed.detail == expected.detail
            for part, other in zip(packed.parts, expected.parts, strict=True):
                assert_same(part, other)


@pytest.mark.parametrize("coder", CODERS)
def test_threads_change_nothing(coder: str) -> None:
    x = smooth(2, 3, 200, 300)
    results = []
    for threads in (1, 2, 3):
        with on_threads(threads):
            packed = ErrorBounded(0.01, "auto", coder).encode(x)
            results.append((*packed.parts, packed.decode()))
    for result in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(result, results[0], strict=True))


@pytest.mark.parametrize("coder", CODERS)
def test_argument_stays_as_it_is(coder: str) -> None:
    x = normal()(3000)
    before = x.clone()
    packed = ErrorBounded(0.01, "lorenzo", coder).encode(x)
    assert torch.equal(x, before)
    x.zero_()
    assert_within(packed.decode(), before, 0.01)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("coder", CODERS)
def test_the_mask_is_held_where_signs_are(dtype: torch.dtype, coder: str) -> None:
    x = normal()(20_000).relu().to(dtype)
    x[7] = torch.nan
    packed = ErrorBounded(0.25, coder=coder, signs=True).encode(x)
    assert packed.codec.holds_mask(packed)
    mask = packed.mask()
    assert mask.dtype == dtype
    assert bool(mask[7].isnan())
    assert torch.equal(mask.nan_to_num(0), (x.nan_to_num(0) > 0).to(dtype))
    without = ErrorBounded(0.25, coder=coder).encode(x)
    assert not without.codec.holds_mask(without)
    assert not torch.equal(without.decode().nan_to_num(0) > 0, x.nan_to_num(0) > 0)


def test_signs_cost_less_than_a_mask_beside() -> None:
    x = normal()(200_000).relu()
    beside = ErrorBounded(0.1).encode(x).nbytes + x.numel() // 8
    assert ErrorBounded(0.1, signs=True).encode(x).nbytes < 0.85 * beside


def test_errors_of_what_has_a_sign_do_not_depend_on_its_size() -> None:
    """Uniform within the bound, as the law of gradient noise has it: also where elements are small."""
    x = normal()(400_000).relu()
    small = (x > 0) & (x < 0.2)
    error = (ErrorBounded(0.1, signs=True).encode(x).decode() - x)[small].double()
    assert float(error.mean()) == pytest.approx(0, abs=0.002)
    assert float(error.std()) == pytest.approx(0.1 / 3**0.5, rel=0.02)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_relative_bound_is_a_share_of_the_largest(dtype: torch.dtype) -> None:
    x = normal()(5000).to(dtype) * 300
    x[3], x[4] = torch.inf, torch.nan
    largest = float(x[x.isfinite()].abs().max())
    relative = ErrorBounded(0.02, relative=True).encode(x)
    absolute = ErrorBounded(0.02 * largest).encode(x)
    assert str(relative.codec) == "ErrorBounded(0.02, relative)"
    assert_within(relative.decode(), x, 0.02 * largest)
    assert all(torch.equal(a, b) for a, b in zip(relative.parts, absolute.parts, strict=True))
    for odd in (x[:0], torch.zeros(4096, dtype=dtype), torch.full((9,), torch.nan, dtype=dtype)):
        assert_within(ErrorBounded(0.02, relative=True).encode(odd).decode(), odd, 0.0)


def entropy(integers: Tensor) -> float:
    """Bits an integer, of an ideal code that knows how often each occurs."""
    _, counts = integers.unique(return_counts=True)
    share = counts.double() / integers.numel()
    return -float((share * share.log2()).sum())


@pytest.mark.parametrize("bound", [0.003, 0.03, 0.3])
@pytest.mark.parametrize("kept", [0.05, 0.5, 1.0])
def test_noise_takes_hardly_more_than_its_information(bound: float, kept: float) -> None:
    x = normal()(1 << 19) * (torch.rand(1 << 19, generator=torch.Generator().manual_seed(3)) < kept)
    packed = ErrorBounded(bound).encode(x)
    assert packed.detail[1] == ()
    bits = entropy((x / (2 * bound)).round())
    assert bits <= packed.nbytes * 8 / x.numel() <= 1.03 * bits + 0.03


@pytest.mark.parametrize(("coder", "piece", "element"), [("huffman", 11, 4), ("fixed", 136, 192)])
def test_zeros_take_next_to_nothing(coder: str, piece: int, element: int) -> None:
    x = torch.zeros(4, 1 << 16)
    assert ErrorBounded(0.1, "none", coder).encode(x).nbytes == 4 * piece
    x[1, ::1000] = 1
    assert ErrorBounded(0.1, "none", coder).encode(x).nbytes <= 4 * piece + 66 * element


@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_smooth_maps_are_predicted(coder: str, memory_format: torch.memory_format) -> None:
    x = smooth(2, 16, 64, 64).to(memory_format=memory_format)
    x = x / x.amax((0, 2, 3), keepdim=True)
    packed = ErrorBounded(0.002, "auto", coder).encode(x)
    assert packed.detail[1] == (x.stride(3), x.stride(2))
    assert packed.nbytes < 0.95 * ErrorBounded(0.002, "none", coder).encode(x).nbytes
    assert_within(packed.decode(), x, 0.002)


@pytest.mark.parametrize("coder", CODERS)
def test_noise_is_predicted_only_on_demand(coder: str) -> None:
    x = sparse()(8, 8, 32, 32)
    packed, worse = (ErrorBounded(0.01, predictor, coder).encode(x) for predictor in ("auto", "lorenzo"))
    assert packed.detail[1] == ()
    assert worse.detail[1] == (1,)
    assert packed.nbytes < worse.nbytes
    assert torch.equal(packed.decode(), worse.decode())


@pytest.mark.parametrize("coder", CODERS)
def test_bytes_are_counted(coder: str) -> None:
    for count in (600, 70_000, 1 << 17):
        x = normal()(count)
        x[::100] = math.inf
        packed = ErrorBounded(0.01, "none", coder).encode(x)
        sizes, stream = packed.parts
        assert packed.nbytes == 4 * -(-count // 65_536) + int(sizes.sum())
        assert stream.numel() == int(sizes.sum())
        clean = ErrorBounded(0.01, "none", coder).encode(x.nan_to_num(posinf=0))
        assert packed.nbytes - clean.nbytes == 6 * len(x[::100])


@pytest.mark.parametrize("coder", CODERS)
def test_what_does_not_become_smaller_is_exact(coder: str) -> None:
    for x in (normal()(5000), torch.full((5000,), math.nan), torch.ones(1), torch.ones(())):
        packed = ErrorBounded(1e-12, "none", coder).encode(x)
        assert packed.codec == ZeroValue()
        assert packed.why == "takes no fewer bytes within 1e-12"
        assert torch.equal(bits_of(packed.decode()), bits_of(x))
        assert ErrorBounded(1e-12, "none", coder).encode(torch.zeros(5000)).why == ""


def test_no_mask_is_held() -> None:
    packed = ErrorBounded(0.1).encode(sparse()(1000))
    assert not packed.codec.holds_mask(packed)
    with pytest.raises(NotImplementedError, match=r"ErrorBounded\(0.1\) keeps no mask"):
        packed.mask()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_other_devices_give_the_same_elements(
    dtype: torch.dtype, coder: str, predictor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = smooth(2, 3, 40, 50).to(dtype)
    x.view(-1)[::777] = math.nan
    codec = ErrorBounded(0.01, predictor, coder)
    packed = codec.encode(x)
    expected = packed.decode()
    monkeypatch.setattr(kernels, "runs_natively", lambda x: False)
    monkeypatch.setattr(integer_pieces, "runs_natively", lambda x: False)
    other = codec.encode(x)
    assert_same(other.decode(), expected)
    assert other.nbytes < 1.1 * packed.nbytes


@pytest.mark.parametrize("bound", [0, 0.0, -1.0, math.inf, -math.inf, math.nan])
def test_bounds_are_finite_and_above_0(bound: float) -> None:
    with pytest.raises(ValueError, match=f"ErrorBounded: bound is {bound}, expected a finite number above 0"):
        ErrorBounded(bound)


def test_wrong_options_and_types_are_refused() -> None:
    with pytest.raises(ValueError, match=r"predictor is 'last', expected 'auto' or 'none' or 'lorenzo'"):
        ErrorBounded(1.0, predictor="last")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"coder is 'zvc', expected 'huffman' or 'fixed'"):
        ErrorBounded(1.0, coder="zvc")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"ErrorBounded\(1\) encodes .* not torch.float64"):
        ErrorBounded(1.0).encode(torch.zeros(3, dtype=torch.float64))


def test_it_is_a_value_with_a_name() -> None:
    codec = ErrorBounded(0.25, "lorenzo", "fixed")
    assert str(codec) == "ErrorBounded(0.25, lorenzo, fixed)"
    assert str(ErrorBounded(0.25)) == "ErrorBounded(0.25)"
    assert pickle.loads(pickle.dumps(codec)) == codec
    assert codec.to_dict() == {
        "codec": "ErrorBounded",
        "bound": 0.25,
        "predictor": "lorenzo",
        "coder": "fixed",
        "signs": False,
        "relative": False,
    }
    assert not codec.fixed_rate


def test_decoding_can_be_repeated() -> None:
    packed = ErrorBounded(0.1).encode(normal()(1000))
    assert isinstance(packed, Packed)
    first, second = packed.decode(), packed.decode()
    first.zero_()
    assert torch.equal(packed.decode(), second)
