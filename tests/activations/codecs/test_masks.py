"""One bit an element: ReluMask, Bits, and masks applied to decoded tensors."""

from __future__ import annotations

import pytest
import torch
from tensors import FLOATS, ISAS, Fill, assert_same, bits_of, normal, odd_tensors, on_threads, using_isa
from torch import Tensor

from halfbyte.activations.codecs import bits, kernels
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.masks import Bits, ReluMask, apply_mask
from halfbyte.activations.codecs.reference import masks as reference

SPECIAL = (0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), 6e-8, -6e-8)


def with_specials(seed: int = 0) -> Fill:
    """Normal numbers, half of them replaced by zeros of both signs, infinities, NaN, subnormal halves."""
    fill = normal(seed)
    generator = torch.Generator().manual_seed(seed + 1)

    def mixed(*size: int) -> Tensor:
        x = fill(*size)
        chosen = torch.randint(2 * len(SPECIAL), size, generator=generator)
        for i, value in enumerate(SPECIAL):
            x = torch.where(chosen == i, value, x)
        return x

    return mixed


def booleans(*size: int) -> Tensor:
    return normal()(*size) > 0.5


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_native_masks_equal_the_reference(isa: str, dtype: torch.dtype) -> None:
    with using_isa(isa):
        for x in odd_tensors(with_specials(), dtype):
            flat = Layout(x).flat(x)
            mask, has_nan = bits.pack_positive(flat)
            assert torch.equal(mask, reference.pack(~(flat <= 0)))
            assert has_nan == bool(flat.isnan().any())
            assert torch.equal(bits.pack_nonzero(flat), reference.pack(bits_of(flat) != 0))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_relu_mask_is_one_where_positive(isa: str, dtype: torch.dtype) -> None:
    with using_isa(isa):
        for x in odd_tensors(with_specials(), dtype):
            packed = ReluMask().encode(x)
            nan = x.isnan()
            assert packed.nbytes == (packed.layout.numel + 7) // 8 * (2 if nan.any() else 1)
            assert_same(packed.decode(), (x > 0).to(dtype).masked_fill(nan, torch.nan), like=x)


def test_relu_mask_of_a_device_that_would_be_waited_for_counts_nan_as_positive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels, "runs_natively", lambda x: False)
    packed = ReluMask().encode(torch.tensor([1.0, -1.0, torch.nan]))
    assert packed.nbytes == 1
    assert packed.decode().tolist() == [1, 0, 1]


def test_relu_mask_is_its_own_mask() -> None:
    packed = ReluMask().encode(torch.tensor([1.0, -1.0]))
    assert packed.codec.holds_mask(packed)
    assert packed.mask().tolist() == [1, 0]


@pytest.mark.parametrize("isa", ISAS)
def test_booleans_come_back(isa: str) -> None:
    with using_isa(isa):
        for x in odd_tensors(booleans, torch.bool):
            packed = Bits().encode(x)
            assert packed.nbytes == (packed.layout.numel + 7) // 8
            assert_same(packed.decode(), x)
            assert torch.equal(packed.parts[0], reference.pack(packed.layout.flat(x)))


@pytest.mark.parametrize("isa", ISAS)
def test_any_byte_but_zero_is_true(isa: str) -> None:
    flat = torch.arange(256, dtype=torch.uint8)
    with using_isa(isa):
        assert bits.pack_nonzero(flat).tolist() == [0b1111_1110] + [255] * 31


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_applied_mask_leaves_what_was_positive(isa: str, dtype: torch.dtype) -> None:
    with using_isa(isa):
        for x in odd_tensors(normal(), dtype):
            layout = Layout(x)
            values = with_specials(1)(layout.numel).to(dtype)
            decoded = layout.restore(values.clone())
            assert apply_mask(decoded, ReluMask().encode(x)) is decoded
            expected = values.masked_fill(layout.flat(x) <= 0, 0)
            assert_same(layout.flat(decoded), expected)


def test_mask_is_applied_to_elements_in_memory_order() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    flat = apply_mask(torch.ones(x.numel()), ReluMask().encode(x))
    assert torch.equal(Layout(x).restore(flat), (x > 0).float())


@pytest.mark.parametrize(
    "x",
    [torch.ones(4, 3), torch.ones(3, 5), torch.ones(3, 4).half(), torch.ones(4, 3).t(), torch.ones(24)[::2]],
)
def test_mask_of_another_layout_is_refused(x: Tensor) -> None:
    with pytest.raises(ValueError, match=r"of size \(3, 4\) and strides \(4, 1\) cannot be applied"):
        apply_mask(x, ReluMask().encode(torch.ones(3, 4)))


def test_number_of_threads_changes_nothing() -> None:
    x = normal()(5, 100_003)
    with on_threads(1):
        alone = ReluMask().encode(x)
    with on_threads(2):
        assert torch.equal(ReluMask().encode(x).parts[0], alone.parts[0])
        assert torch.equal(alone.decode(), (x > 0).float())


@pytest.mark.parametrize("codec", [ReluMask(), Bits()])
@pytest.mark.parametrize("bytes_held", [0, 12, 14])
def test_masks_of_another_length_are_damaged(codec: ReluMask | Bits, bytes_held: int) -> None:
    x = torch.ones(100) if isinstance(codec, ReluMask) else torch.ones(100, dtype=torch.bool)
    packed = codec.encode(x)
    packed.parts = (torch.zeros(bytes_held, dtype=torch.uint8),)
    with pytest.raises(ValueError, match=f"damaged: a mask of {bytes_held} bytes, expected 13 for 100"):
        packed.decode()
    with pytest.raises(ValueError, match=f"damaged: a mask of {bytes_held} bytes, expected 13 for 100"):
        reference.unpack(packed.parts[0], 100)


def test_applying_a_damaged_mask_is_refused() -> None:
    packed = ReluMask().encode(torch.ones(100))
    packed.parts = (packed.parts[0][:12],)
    with pytest.raises(ValueError, match="damaged: a mask of 12 bytes, expected 13 for 100"):
        apply_mask(torch.ones(100), packed)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.complex64, torch.bool])
def test_relu_mask_refuses_other_types(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=f"ReluMask encodes float32, bfloat16 and float16, not {dtype}"):
        ReluMask().encode(torch.ones(3).to(dtype))


def test_bits_refuse_numbers() -> None:
    with pytest.raises(TypeError, match=r"Bits encodes torch.bool, not torch.uint8"):
        Bits().encode(torch.ones(3, dtype=torch.uint8))


def test_the_tensor_itself_is_left_alone() -> None:
    x = with_specials()(1000)
    before = x.clone()
    packed = ReluMask().encode(x)
    apply_mask(packed.decode(), packed)
    assert_same(x, before)


@pytest.mark.parametrize("codec", [ReluMask(), Bits()])
def test_masks_have_names_and_options(codec: ReluMask | Bits) -> None:
    name = type(codec).__name__
    assert str(codec) == name
    assert codec.to_dict() == {"codec": name}
    assert codec == type(codec)()
