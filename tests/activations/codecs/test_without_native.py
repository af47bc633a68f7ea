"""Codecs where no native kernel runs, as on other devices: the same bytes and the same tensors."""

from __future__ import annotations

import pytest
import torch
from tensors import FLOATS, Fill, assert_same, odd_tensors, sparse
from torch import Tensor

from halfbyte.activations.codecs import bits, indices, kernels, masks, two_values, zero_value
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.indices import Indices
from halfbyte.activations.codecs.masks import Bits, ReluMask, apply_mask
from halfbyte.activations.codecs.two_values import TwoValues
from halfbyte.activations.codecs.zero_value import ZeroValue


def halves(*size: int) -> Tensor:
    return (sparse()(*size) > 0) * 0.5


def booleans(*size: int) -> Tensor:
    return sparse()(*size) > 0


def integers(*size: int) -> Tensor:
    return (sparse()(*size) * 1000).long() - 5


CASES: list[tuple[Codec, Fill, torch.dtype]] = [
    *((ReluMask(), sparse(), dtype) for dtype in FLOATS),
    *((TwoValues(), halves, dtype) for dtype in FLOATS),
    *((ZeroValue(), sparse(), dtype) for dtype in FLOATS),
    (ZeroValue(cast="float16"), sparse(), torch.float32),
    (ZeroValue(cast="bfloat16"), sparse(), torch.float32),
    (Bits(), booleans, torch.bool),
    (Indices(), integers, torch.int64),
    (Indices(), integers, torch.int32),
]


@pytest.fixture
def without_native(monkeypatch: pytest.MonkeyPatch) -> None:
    """No native kernels, whatever the tensor."""
    monkeypatch.setattr(kernels, "runs_natively", lambda x: False)
    monkeypatch.setattr(bits, "on_cpu", lambda x: False)
    for module in (bits, indices, masks, two_values, zero_value):
        monkeypatch.setattr(module, "_native", None)


def assert_equal(packed: Packed, expected: Packed) -> None:
    assert packed.detail == expected.detail
    for part, other in zip(packed.parts, expected.parts, strict=True):
        assert_same(part, other)


@pytest.mark.parametrize(("codec", "fill", "dtype"), CASES, ids=str)
def test_same_bytes_and_tensors(
    codec: Codec, fill: Fill, dtype: torch.dtype, request: pytest.FixtureRequest
) -> None:
    tensors = list(odd_tensors(fill, dtype))
    expected = [codec.encode(x) for x in tensors]
    decoded = [packed.decode() for packed in expected]
    request.getfixturevalue("without_native")
    for x, native, tensor in zip(tensors, expected, decoded, strict=True):
        packed = codec.encode(x)
        assert_equal(packed, native)
        assert_same(packed.decode(), tensor, like=x)


def test_masks_are_applied(without_native: None) -> None:
    x = torch.tensor([[1.0, -1.0], [0.0, 2.0]]).t()
    value = torch.full((2, 2), float("nan")).t()
    assert apply_mask(value, ReluMask().encode(x)) is value
    assert_same(value.nan_to_num(9), torch.tensor([[9.0, 0.0], [0.0, 9.0]]), like=x)


def test_a_third_value_does_not_fit(without_native: None) -> None:
    x = torch.tensor([0, 1, 2.0])
    assert not TwoValues.fits(x)
    assert TwoValues.fits(x[:2])
    with pytest.raises(ValueError, match=r"ask TwoValues.fits first"):
        TwoValues().encode(x)


def test_values_that_would_overflow_are_not_cast(without_native: None) -> None:
    x = torch.tensor([0, 1e5, float("inf")])
    packed = ZeroValue(cast="float16").encode(x)
    assert packed.why == "too large for float16"
    assert_same(packed.decode(), x)
