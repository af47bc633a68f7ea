"""The model of what limits training, where every answer is known."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import halfbyte
from halfbyte.errors import FidelityError
from halfbyte.tuning import Limit, Measured, Throughput
from halfbyte.tuning.throughput import sample_bytes

SIZES = (100.0, 200.0, 400.0, 800.0)


def measured(value: float, count: int = 10, spread: float = 0.0) -> Measured:
    return Measured(value, count, spread)


def test_the_slowest_sets_the_pace() -> None:
    model = Throughput(
        SIZES,
        bandwidth=measured(80_000.0, 30, 0.2),
        decode={1: measured(1 / 600), 4: measured(1 / 150, 7, 0.1)},
        step=measured(1 / 500, 99, 0.01),
    )
    assert (model.link(1), model.link(4)) == (800.0, 100.0)
    first, last = model.predict(1), model.predict(4)
    assert (first.images_per_s, first.limit, first.count) == (pytest.approx(500), Limit.MODEL, 99)
    assert (last.images_per_s, last.limit) == (100.0, Limit.LINK)
    assert (last.count, last.spread) == (30, 0.2)
    assert model.supply(4) == 100.0
    assert (model.supply_spread(4), model.supply_spread(1)) == (0.2, 0.0)
    faster = Throughput(SIZES, bandwidth=measured(1e9), decode=model.decode, step=model.step)
    assert faster.predict(4).limit is Limit.DECODING
    assert (faster.predict(4).count, faster.predict(4).spread) == (7, 0.1)


@pytest.mark.parametrize(
    ("known", "k", "seconds"),
    [
        ({2: 4.0, 4: 16.0}, 3, 8.0),  # linear in bytes between two: 400 of 200 … 800
        ({3: 8.0}, 1, 2.0),  # proportional to bytes below
        ({2: 4.0, 3: 12.0}, 4, 24.0),  # and above, from the nearest
        ({3: 8.0}, 4, 16.0),
        ({1: 3.0, 3: 8.0}, 1, 3.0),  # measured is measured
    ],
)
def test_decoding_between_measurements(known: dict[int, float], k: int, seconds: float) -> None:
    model = Throughput(SIZES, decode={at: measured(value) for at, value in known.items()})
    assert model.decode_at(k).value == pytest.approx(seconds)
    assert model.predict(k).interpolated == (k not in known)


def test_what_is_read_off_is_known_as_badly_as_its_neighbours() -> None:
    model = Throughput(
        SIZES, decode={1: measured(1.0, 50, 0.1), 2: measured(2.0, 5, 0.3), 4: measured(8.0, 9)}
    )
    between = model.decode_at(3)
    assert (between.count, between.spread) == (5, 0.3)
    assert model.decode_at(4) == model.decode[4]


def test_a_mixture_costs_the_mean_of_its_seconds() -> None:
    model = Throughput(SIZES, bandwidth=measured(1000.0), decode={1: measured(0.01), 4: measured(0.03)})
    mixture = {1: 3.0, 4: 1.0}
    assert model.size(mixture) == 275.0
    assert model.link(mixture) == pytest.approx(1 / (0.75 * 0.1 + 0.25 * 0.8))
    assert model.decoding(mixture) == pytest.approx(1 / 0.015)
    assert model.predict(mixture).fidelity == {1: 0.75, 4: 0.25}


def test_what_is_unknown_limits_nothing() -> None:
    nothing = Throughput(SIZES).predict(4)
    assert (nothing.images_per_s, nothing.limit, nothing.count) == (math.inf, None, 0)
    assert Throughput(SIZES, step=measured(0.5)).predict(1).limit is Limit.MODEL
    with pytest.raises(ValueError, match="measure at one fidelity"):
        Throughput(SIZES).decode_at(1)


def test_none_is_full() -> None:
    assert Throughput(SIZES).size(None) == 800.0


def test_impossible_figures_are_refused() -> None:
    for sizes, decode in (((), {}), ((0.0, 1.0), {}), (SIZES, {5: measured(1.0)})):
        with pytest.raises(ValueError, match="give a size above 0"):
            Throughput(sizes, decode=decode)
    with pytest.raises(FidelityError):
        Throughput(SIZES).predict(5)


def test_sizes_are_those_of_the_data_set(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path)
    sizes = sample_bytes(ds)
    assert len(sizes) == ds.num_levels
    assert [round(size * len(ds)) for size in sizes] == [ds.bytes_at(k) for k in range(1, ds.num_levels + 1)]
