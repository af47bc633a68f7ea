"""The fewest bytes within a tolerance, without a model."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.codecs.near_zero import NearZero
from halfbyte.activations.feature_maps.count import MapCount
from halfbyte.activations.feature_maps.options import MapOptions
from halfbyte.activations.feature_maps.selection import cheapest, select

CODECS: list[Codec] = [NearZero(bits=bits) for bits in (3, 4, 5, 6)]


def option(elements: int, sensitivity: float) -> MapOptions:
    """Each bit more takes an eighth of the elements, and divides the error by 4."""
    counts = [MapCount(elements, elements * bits // 8, 4.0**-bits, 1.0) for bits in (3, 4, 5, 6)]
    return MapOptions(CODECS, counts, sensitivity)


OPTIONS = {"large": option(8000, 0.5), "touchy": option(800, 100.0), "small": option(800, 0.5)}


def total(codecs: Mapping[str, Codec]) -> tuple[int, float]:
    """Bytes, and the error expected of the output."""
    chosen = [(OPTIONS[name], OPTIONS[name].codecs.index(codec)) for name, codec in codecs.items()]
    return sum(o.counts[i].held for o, i in chosen), sum(o.sensitivity * o.counts[i].error for o, i in chosen)


def test_errors_that_matter_get_bits_first() -> None:
    assert set(cheapest(OPTIONS, 0).values()) == {NearZero(bits=3)}
    assert set(cheapest(OPTIONS, 1e9).values()) == {NearZero(bits=6)}
    middle = cheapest(OPTIONS, 1.0)
    assert middle["touchy"] == NearZero(bits=6)
    assert middle["large"] == NearZero(bits=3)


@pytest.mark.parametrize("tolerance", [0.03, 0.1, 0.3, 1.0, 3.0])
def test_no_other_choice_of_its_error_takes_fewer_bytes(tolerance: float) -> None:
    chosen = select(OPTIONS, lambda codecs: total(codecs)[1], tolerance)
    held, error = total(chosen)
    assert error <= tolerance
    for combination in itertools.product(CODECS, repeat=3):
        other = total(dict(zip(OPTIONS, combination, strict=True)))
        assert other[1] > error or other[0] >= held


def test_what_is_measured_counts_more_than_what_was_expected() -> None:
    tried = []

    def harm(codecs: Mapping[str, Codec]) -> float:
        tried.append(codecs)
        return 1.0 if codecs["small"] == NearZero(bits=3) else 0.0

    chosen = select(OPTIONS, harm, 0.5)
    assert chosen["small"] != NearZero(bits=3)
    assert {"small": NearZero(bits=3)}.items() <= min(tried, key=lambda c: total(c)[0]).items()


def test_nothing_within_the_tolerance_is_told() -> None:
    with pytest.raises(ValueError, match=r"a harm of 2, more than the tolerance of 1: raise the tolerance"):
        select(OPTIONS, lambda codecs: 2.0, 1.0)
    with pytest.raises(ValueError, match="a harm of nan"):
        select(OPTIONS, lambda codecs: float("nan"), 1.0)
