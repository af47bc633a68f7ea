"""Integers in the narrowest type that holds them."""

from __future__ import annotations

import pytest
import torch
from tensors import ISAS, Fill, assert_same, odd_tensors, on_threads, using_isa
from torch import Tensor

from halfbyte.activations.codecs.indices import Indices
from halfbyte.activations.codecs.reference import indices as reference

TYPES = (torch.uint8, torch.int16, torch.int32, torch.int64)


def integers(least: int, greatest: int, seed: int = 0) -> Fill:
    """Makers of int64 from `least` to `greatest`, which both occur where there is room."""
    generator = torch.Generator().manual_seed(seed)

    def fill(*size: int) -> Tensor:
        x = torch.randint(least, greatest + 1, size, generator=generator)
        if x.numel() > 1:
            x.view(-1)[0] = least
            x.view(-1)[-1] = greatest
        return x

    return fill


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", TYPES)
def test_integers_come_back(isa: str, dtype: torch.dtype) -> None:
    with using_isa(isa):
        for x in odd_tensors(integers(0, 100), dtype):
            packed = Indices().encode(x)
            assert packed.nbytes == packed.layout.numel
            assert_same(packed.decode(), x)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", TYPES[1:])
@pytest.mark.parametrize(
    ("least", "greatest", "narrowest"),
    [
        (0, 255, torch.uint8),
        (0, 256, torch.int16),
        (-1, 1, torch.int16),
        (-(1 << 15), (1 << 15) - 1, torch.int16),
        (0, 1 << 15, torch.int32),
        (-(1 << 15) - 1, 0, torch.int32),
        (-(1 << 31), (1 << 31) - 1, torch.int32),
        (0, 1 << 31, torch.int64),
        (-(1 << 31) - 1, 0, torch.int64),
        (-(1 << 62), 1 << 62, torch.int64),
    ],
)
def test_the_narrowest_type_is_chosen(
    isa: str, dtype: torch.dtype, least: int, greatest: int, narrowest: torch.dtype
) -> None:
    if narrowest.itemsize > dtype.itemsize:
        return
    x = integers(least, greatest)(70_001).to(dtype)
    with using_isa(isa):
        packed = Indices().encode(x)
        assert packed.parts[0].dtype == narrowest
        assert torch.equal(packed.parts[0], reference.convert(x.view(-1), narrowest))
        assert_same(packed.decode(), x)
        kept = f"no narrower type than {dtype} holds its integers"
        assert packed.why == (kept if narrowest == dtype else "")


@pytest.mark.parametrize("place", [0, 63, 1 << 16, 69_999])
@pytest.mark.parametrize("extreme", [-70_000, 70_000])
def test_extremes_are_found_anywhere(place: int, extreme: int) -> None:
    x = torch.zeros(70_000, dtype=torch.int64)
    x[place] = extreme
    packed = Indices().encode(x)
    assert packed.parts[0].dtype == torch.int32
    assert_same(packed.decode(), x)
    assert reference.integer_range(x) == (min(extreme, 0), max(extreme, 0))


def test_what_is_written_later_does_not_matter() -> None:
    x = torch.arange(10, dtype=torch.uint8)
    packed = Indices().encode(x)
    x.zero_()
    assert packed.decode().tolist() == list(range(10))


def test_number_of_threads_changes_nothing() -> None:
    x = integers(-5, 1000)(300_001)
    with on_threads(1):
        alone = Indices().encode(x)
    with on_threads(2):
        assert torch.equal(Indices().encode(x).parts[0], alone.parts[0])
        assert_same(alone.decode(), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int8])
def test_other_types_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=f"Indices encodes uint8, int16, int32 and int64, not {dtype}"):
        Indices().encode(torch.ones(3).to(dtype))


def test_damaged_integers_are_refused() -> None:
    packed = Indices().encode(torch.arange(10))
    packed.parts = (packed.parts[0][:9],)
    with pytest.raises(ValueError, match="damaged: 9 integers, expected 10"):
        packed.decode()


def test_it_has_a_name_and_no_options() -> None:
    assert str(Indices()) == "Indices"
    assert Indices().to_dict() == {"codec": "Indices"}
