"""A bit an element, and the elements that are not zero."""

from __future__ import annotations

import pickle
from dataclasses import asdict

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
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

from halfbyte.activations.codecs.cast import Cast, Half
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import zero_value as reference
from halfbyte.activations.codecs.zero_value import ZeroValue

SPECIAL = (-0.0, float("inf"), -float("inf"), float("nan"), 1e-40, -1e-7)


def zeros(*size: int) -> Tensor:
    return torch.zeros(size)


def odd_values(*size: int) -> Tensor:
    """About half zeros; the others normal numbers, infinities, NaN, -0 and tiny ones."""
    generator = torch.Generator().manual_seed(1)
    x = sparse()(*size)
    chosen = torch.randint(3 * len(SPECIAL), size, generator=generator)
    for i, value in enumerate(SPECIAL):
        x = torch.where(chosen == i, value, x)
    return x


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fill", [odd_values, normal(), sparse(), zeros])
def test_every_bit_comes_back(isa: str, dtype: torch.dtype, fill: Fill) -> None:
    with using_isa(isa):
        for x in odd_tensors(fill, dtype):
            assert_same(ZeroValue().encode(x).decode(), x)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_native_equals_the_reference(isa: str, dtype: torch.dtype) -> None:
    with using_isa(isa):
        for x in odd_tensors(odd_values, dtype):
            packed = ZeroValue().encode(x)
            mask, values = packed.parts
            flat = Layout(x).flat(x)
            expected, negative = reference.scan(flat)
            assert torch.equal(mask, expected)
            assert packed.detail == negative
            assert_same(values, reference.compact(flat, mask, dtype))
            assert_same(reference.expand(mask, flat.numel(), values, dtype), flat)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("to", ["bfloat16", "float16"])
def test_cast_values_are_as_torch_makes_them(isa: str, to: Half) -> None:
    with using_isa(isa):
        for x in odd_tensors(sparse()):
            packed = ZeroValue(cast=to).encode(x)
            flat = Layout(x).flat(x)
            assert_same(packed.parts[1], reference.compact(flat, packed.parts[0], getattr(torch, to)))
            assert_same(packed.decode(), Cast(to).encode(x).decode(), like=x)
            assert packed.nbytes == (flat.numel() + 7) // 8 + 2 * int((flat != 0).sum())
            assert packed.why == ""


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("to", ["bfloat16", "float16"])
def test_every_kind_of_number_is_cast_as_torch_casts_it(isa: str, to: Half) -> None:
    x = torch.arange(0, 1 << 32, 65_537 * 3).to(torch.int32).view(torch.float32)
    x = x[x.to(getattr(torch, to)).isfinite() | ~x.isfinite()].contiguous()
    with using_isa(isa):
        decoded = ZeroValue(cast=to).encode(x).decode()
    expected = x.to(getattr(torch, to)).float()
    assert torch.equal(decoded.isnan(), x.isnan())
    assert_same(decoded[~x.isnan()], expected[~x.isnan()])


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("to", ["bfloat16", "float16"])
@pytest.mark.parametrize("place", [0, 70, 69_999])
def test_values_that_would_overflow_are_not_cast(isa: str, to: Half, place: int) -> None:
    x = sparse()(70_000)
    x[place] = -65520.0 if to == "float16" else 3.3999e38
    x[1000] = float("inf")
    with using_isa(isa):
        packed = ZeroValue(cast=to).encode(x)
        assert packed.why == f"too large for {to}"
        assert_same(packed.decode(), x)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    ("to", "largest"), [("float16", 65519.996), ("bfloat16", torch.finfo(torch.bfloat16).max)]
)
def test_the_largest_values_are_cast(isa: str, to: Half, largest: float) -> None:
    x = torch.tensor([0, largest, -largest, float("inf"), float("nan")])
    with using_isa(isa):
        packed = ZeroValue(cast=to).encode(x)
        assert packed.parts[1].dtype == getattr(torch, to)
        assert bool(packed.decode()[:3].isfinite().all())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_values_of_16_bits_are_not_cast(dtype: torch.dtype) -> None:
    x = sparse()(100).to(dtype)
    packed = ZeroValue(cast="float16").encode(x)
    assert packed.why == f"{dtype} has 16 bits already"
    assert_same(packed.decode(), x)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_bytes_are_counted(isa: str, dtype: torch.dtype) -> None:
    with using_isa(isa):
        for x in odd_tensors(sparse(), dtype):
            packed = ZeroValue().encode(x)
            flat = Layout(x).flat(x)
            values = int((flat != 0).sum())
            assert packed.nbytes == (flat.numel() + 7) // 8 + values * x.element_size()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_what_relu_leaves_holds_its_mask(isa: str, dtype: torch.dtype) -> None:
    with using_isa(isa):
        for x in odd_tensors(sparse(), dtype):
            packed = ZeroValue().encode(x)
            assert packed.codec.holds_mask(packed)
            assert_same(packed.mask(), (x > 0).to(dtype), like=x)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("place", [0, 4097, 69_999])
@pytest.mark.parametrize("value", [-1.0, -0.0, float("nan"), -float("inf")])
def test_no_mask_is_held_of_other_tensors(isa: str, dtype: torch.dtype, place: int, value: float) -> None:
    x = sparse()(70_000).to(dtype)
    x[5000] = float("inf")
    with using_isa(isa):
        sound = ZeroValue().encode(x)
        assert sound.codec.holds_mask(sound)
        x[place] = value
        packed = ZeroValue().encode(x)
        assert not packed.codec.holds_mask(packed)


@given(
    st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.0, float("nan"), float("inf")]), max_size=200),
    st.sampled_from(ISAS),
    st.sampled_from(FLOATS),
)
def test_any_elements_come_back(elements: list[float], isa: str, dtype: torch.dtype) -> None:
    x = torch.tensor(elements, dtype=dtype)
    with using_isa(isa):
        packed = ZeroValue().encode(x)
        assert_same(packed.decode(), x)
        assert packed.parts[1].numel() == int((bits_of(x) != 0).sum())


def test_number_of_threads_changes_nothing() -> None:
    x = sparse()(300_001)
    with on_threads(1):
        alone = ZeroValue(cast="bfloat16").encode(x)
    with on_threads(2):
        together = ZeroValue(cast="bfloat16").encode(x)
        for a, b in zip(alone.parts, together.parts, strict=True):
            assert torch.equal(a, b)
        assert torch.equal(alone.decode(), together.decode())


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("to", [None, "float16"])
@pytest.mark.parametrize("count", [1, 100, 70_001])
def test_damaged_parts_are_refused(isa: str, to: Half | None, count: int) -> None:
    packed = ZeroValue(cast=to).encode(sparse()(count) + 1)
    mask, values = packed.parts
    flipped = mask.clone()
    flipped[count // 16] ^= 1
    padded = mask.clone()
    padded[-1] |= 0x80  # a bit after the last element, or, below, one of too many values
    longer = torch.cat([values, values[:1]])
    damages = [(flipped, values), (padded, values), (padded, longer), (mask, values[:-1])]
    with using_isa(isa):
        for damage in damages:
            packed.parts = damage
            numbers = f"the mask of {count} elements does not go with {damage[1].numel()} values"
            with pytest.raises(ValueError, match=f"packed bytes are damaged: {numbers}"):
                packed.decode()
            with pytest.raises(ValueError, match=f"packed bytes are damaged: {numbers}"):
                reference.expand(damage[0], count, damage[1], torch.float32)


@pytest.mark.parametrize("length", [0, 12, 14])
def test_masks_of_another_length_are_damaged(length: int) -> None:
    packed = ZeroValue().encode(torch.ones(100))
    packed.parts = (torch.zeros(length, dtype=torch.uint8), packed.parts[1])
    with pytest.raises(ValueError, match=f"damaged: a mask of {length} bytes, expected 13 for 100"):
        packed.decode()


def test_lossless_only_without_a_cast() -> None:
    assert ZeroValue().lossless
    assert not ZeroValue(cast="float16").lossless
    assert not pickle.loads(pickle.dumps(ZeroValue(cast="float16"))).lossless


def test_wrong_options_and_types_are_refused() -> None:
    with pytest.raises(ValueError, match=r"ZeroValue cast to 'int8', expected None or one of"):
        ZeroValue(cast="int8")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"ZeroValue encodes float32, .* not torch.float64"):
        ZeroValue().encode(torch.ones(3, dtype=torch.float64))


def test_it_has_a_name_and_an_option() -> None:
    assert str(ZeroValue()) == "ZeroValue"
    assert str(ZeroValue(cast="float16")) == "ZeroValue(float16)"
    assert ZeroValue().to_dict() == {"codec": "ZeroValue", "cast": None}
    assert asdict(ZeroValue()) == {"cast": None}
