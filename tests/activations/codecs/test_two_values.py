"""Tensors of 0 and one constant."""

from __future__ import annotations

import pytest
import torch
from tensors import FLOATS, ISAS, Fill, assert_same, normal, odd_tensors, on_threads, using_isa
from torch import Tensor

from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import masks as reference
from halfbyte.activations.codecs.two_values import TwoValues


def dropped(constant: float) -> Fill:
    """Makers of the noise of dropout."""
    fill = normal()
    return lambda *size: (fill(*size) > 0.3) * torch.tensor(constant)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("constant", [1 / 0.7, -3.5, float("inf")])
def test_two_values_come_back(isa: str, dtype: torch.dtype, constant: float) -> None:
    fill = dropped(1.0)
    with using_isa(isa):
        for ones in odd_tensors(fill, dtype):
            x = torch.where(ones > 0, constant, 0.0).to(dtype)
            packed = TwoValues().encode(x)
            assert packed.nbytes == (packed.layout.numel + 7) // 8
            assert TwoValues.fits(x)
            assert_same(packed.decode(), x)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_native_equals_the_reference(isa: str, dtype: torch.dtype) -> None:
    with using_isa(isa):
        for x in odd_tensors(dropped(1.25), dtype):
            packed = TwoValues().encode(x)
            flat = Layout(x).flat(x)
            assert packed.detail == reference.other_value(flat)
            assert torch.equal(packed.parts[0], reference.pack(flat != 0))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("place", [0, 1, 64, 69_999])
@pytest.mark.parametrize("third", [0.5, -0.0, float("nan")])
def test_a_third_value_does_not_fit(isa: str, dtype: torch.dtype, place: int, third: float) -> None:
    x = dropped(2.0)(70_000).to(dtype)
    x[place] = third
    with using_isa(isa):
        assert not TwoValues.fits(x)
        assert reference.other_value(x) is None
        with pytest.raises(ValueError, match=r"holds more: ask TwoValues.fits first"):
            TwoValues().encode(x)


@pytest.mark.parametrize("x", [torch.zeros(100), torch.full((100,), -0.0), torch.full((70,), float("nan"))])
def test_one_value_alone_fits(x: Tensor) -> None:
    assert TwoValues.fits(x)
    assert reference.other_value(x) == TwoValues().encode(x).detail
    assert_same(TwoValues().encode(x).decode(), x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bool, torch.int32])
def test_other_types_do_not_fit(dtype: torch.dtype) -> None:
    x = torch.ones(3, dtype=dtype)
    assert not TwoValues.fits(x)
    with pytest.raises(TypeError, match=f"TwoValues encodes float32, bfloat16 and float16, not {dtype}"):
        TwoValues().encode(x)


def test_number_of_threads_changes_nothing() -> None:
    x = dropped(1.5)(300_001)
    with on_threads(1):
        alone = TwoValues().encode(x)
    with on_threads(2):
        assert torch.equal(TwoValues().encode(x).parts[0], alone.parts[0])
        assert_same(alone.decode(), x)


def test_damaged_bits_are_refused() -> None:
    packed = TwoValues().encode(torch.ones(100))
    packed.parts = (packed.parts[0][:12],)
    with pytest.raises(ValueError, match="damaged: a mask of 12 bytes, expected 13"):
        packed.decode()


def test_it_has_a_name_and_no_options() -> None:
    assert str(TwoValues()) == "TwoValues"
    assert TwoValues().to_dict() == {"codec": "TwoValues"}
