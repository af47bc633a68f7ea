"""Maps that are mostly zeros: what may be lost, and what must not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from tensors import FLOATS, assert_same, bits_of, normal, odd_tensors, on_threads, sparse
from torch import Tensor

from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.near_zero import NearZero

CODECS = (NearZero(), NearZero(bits=4), NearZero(0.1, 6), NearZero(bits=8))
EPSILON = {dtype: torch.finfo(dtype).eps for dtype in FLOATS}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with on_threads(1):
        yield


def step(codec: NearZero, x: Tensor) -> float:
    """As the docstring has it."""
    return float(x.float().abs().max()) / 2 ** (codec.bits - bool((x < 0).any()))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("fill", [normal(3), sparse(4)], ids=["normal", "sparse"])
def test_error_is_as_stated(codec: NearZero, dtype: torch.dtype, fill: Callable[..., Tensor]) -> None:
    x = fill(4, 5, 12, 12).to(dtype)
    decoded, exact = codec.encode(x).decode().float(), x.float()
    error = (decoded - exact).abs()
    near = exact.abs() < codec.threshold * exact.abs().max()
    slack = exact.abs() * EPSILON[dtype] + 1e-6 * step(codec, x)
    assert (decoded[near] == 0).all()
    assert (error <= step(codec, x) / 2 + slack)[~near].all()
    assert (error <= exact.abs() + slack)[near].all()
    assert (decoded * exact >= 0).all()
    assert bool(near[exact != 0].any()) == (codec.threshold > 0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_every_layout_comes_back_as_it_was(codec: NearZero, dtype: torch.dtype) -> None:
    for fill in (normal(5), sparse(6)):
        for x in odd_tensors(fill, dtype):
            decoded = codec.encode(x).decode()
            assert (decoded.shape, decoded.dtype) == (x.shape, dtype)
            assert decoded.stride() == Layout(x).restored_stride
            assert (decoded[x == 0] == 0).all()
            if x.numel() > 0:
                assert (decoded.float() - x.float()).abs().max() <= 0.1001 * x.float().abs().max()


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_channels_last_gives_the_same_bytes(codec: NearZero) -> None:
    x = sparse(7)(3, 20, 9, 9)
    planar, last = codec.encode(x), codec.encode(x.to(memory_format=torch.channels_last))
    assert all(torch.equal(a, b) for a, b in zip(planar.parts, last.parts, strict=True))
    assert last.decode().is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(planar.decode(), last.decode())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_channels_that_are_not_finite_are_exact(codec: NearZero, dtype: torch.dtype) -> None:
    x = normal(8)(3, 5, 6, 6).to(dtype)
    without = x.clone()
    without[:, [1, 4]] = 0
    x[0, 1, 2, 3], x[1, 1, 0, 0], x[2, 4, 5, 5] = torch.nan, -torch.inf, torch.inf
    decoded = codec.encode(x).decode()
    assert_same(decoded[:, [1, 4]].contiguous(), x[:, [1, 4]].contiguous())
    assert torch.equal(decoded[:, [0, 2, 3]], codec.encode(without).decode()[:, [0, 2, 3]])


def test_numbers_near_the_end_of_float32_stay_finite() -> None:
    x = normal(9)(2, 3, 4, 4)
    x[:, 1] *= 1e38
    x[:, 2] *= 1e-38
    decoded = NearZero().encode(x).decode()
    assert torch.equal(decoded[:, 1], x[:, 1])
    assert not decoded[:, 2].any()
    assert not NearZero().encode(x[:, 2:]).decode().any()


def test_the_largest_of_float16_stays_finite() -> None:
    x = torch.full((4, 4), 65504.0, dtype=torch.float16)
    assert torch.equal(NearZero().encode(x).decode(), x)


def test_tensor_and_generator_are_left_alone() -> None:
    x = normal(12)(3, 5, 6, 6)
    x[1, 2, 3, 3] = torch.inf
    before, generator = x.clone(), torch.get_rng_state()
    NearZero(0.2).encode(x).decode().zero_()
    assert torch.equal(bits_of(x), bits_of(before))
    assert torch.equal(torch.get_rng_state(), generator)


def test_thresholds_and_fewer_bits_take_fewer_bytes() -> None:
    x = sparse(13)(4, 16, 32, 32)
    sizes = [NearZero(threshold, 6).encode(x).nbytes for threshold in (0, 0.1, 0.3, 0.9)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < x.numel() / 8 < sizes[0]
    assert NearZero(bits=4).encode(x).nbytes < NearZero(bits=5).encode(x).nbytes < sizes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": -0.1}, "threshold is -0.1, expected 0 to 1"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"bits": 1}, "bits is 1, expected 2 to 8"),
        ({"bits": 9}, "bits is 9, expected 2 to 8"),
    ],
)
def test_options_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NearZero(**options)  # type: ignore[arg-type]


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"NearZero\(5 bits\).*torch.int32"):
        NearZero().encode(torch.zeros(3, dtype=torch.int32))


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        (0, torch.tensor([torch.nan]), "the step is not a number"),
        (0, torch.tensor([-1.0]), "the step is not a number"),
        (0, torch.tensor([1.0, 1.0]), "the step is not a number"),
        (3, torch.zeros(2, dtype=torch.uint8), "codes take more or fewer bytes"),
        (4, torch.zeros(1, dtype=torch.int64), "exact channels"),
    ],
)
def test_damage_is_told(part: int, value: Tensor, message: str) -> None:
    x = sparse(14)(2, 3, 8, 8)
    x[0, 1, 1, 1] = torch.nan
    packed = NearZero().encode(x)
    packed.parts = (*packed.parts[:part], value, *packed.parts[part + 1 :])
    with pytest.raises(ValueError, match=f"packed bytes are damaged: .*{message}"):
        packed.decode()
    packed.parts = packed.parts[:3]
    with pytest.raises(ValueError, match="3 parts, expected 4 or 6"):
        packed.decode()


def test_names() -> None:
    assert [str(codec) for codec in CODECS[:3]] == [
        *("NearZero(5 bits)", "NearZero(4 bits)", "NearZero(6 bits, below 0.1)")
    ]
    assert NearZero(0.1).to_dict() == {"codec": "NearZero", "threshold": 0.1, "bits": 5}
