from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfbyte.loader.order import EpochOrder

UNEVEN = [3, 0, 2, 4, 1, 0, 0, 5]
SETTINGS = list(itertools.product([1, 2, 3, 8, 100, None], [False, True]))


def samples_of(order: EpochOrder) -> list[tuple[int, int]]:
    records, indices = order.locate(np.arange(len(order)))
    return list(zip(records.tolist(), indices.tolist(), strict=True))


def every_sample(record_sizes: list[int]) -> list[tuple[int, int]]:
    return [(record, index) for record, size in enumerate(record_sizes) for index in range(size)]


@pytest.mark.parametrize(("window", "shuffle"), SETTINGS)
@pytest.mark.parametrize("sizes", [[], [0], [0, 0], [1], [2], [1, 1], UNEVEN])
def test_epoch_visits_every_sample_once(sizes: list[int], window: int | None, shuffle: bool) -> None:
    order = EpochOrder(sizes, seed=3, epoch=2, window=window, shuffle=shuffle)
    assert len(order) == sum(sizes)
    assert sorted(samples_of(order)) == every_sample(sizes)


@given(
    sizes=st.lists(st.integers(0, 9), max_size=30),
    window=st.none() | st.integers(1, 40),
    shuffle=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
    epoch=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=150)
def test_any_epoch_is_covered_and_invertible(
    sizes: list[int], window: int | None, shuffle: bool, seed: int, epoch: int
) -> None:
    order = EpochOrder(sizes, seed=seed, epoch=epoch, window=window, shuffle=shuffle)
    positions = np.arange(len(order))
    assert sorted(samples_of(order)) == every_sample(sizes)
    assert (order.position_of(*order.locate(positions)) == positions).all()


@pytest.mark.parametrize(("window", "shuffle"), SETTINGS)
def test_vectorised_equals_one_by_one(window: int | None, shuffle: bool) -> None:
    order = EpochOrder(UNEVEN, seed=1, epoch=1, window=window, shuffle=shuffle)
    together = samples_of(order)
    for position, (record, index) in enumerate(together):
        records, indices = order.locate(position)
        assert (records.tolist(), indices.tolist()) == ([record], [index])
        assert order.position_of(record, index).tolist() == [position]


@pytest.mark.parametrize(("window", "shuffle"), SETTINGS)
def test_windows_hold_only_their_records(window: int | None, shuffle: bool) -> None:
    order = EpochOrder(UNEVEN, seed=1, epoch=1, window=window, shuffle=shuffle)
    assert order.window_bounds[0] == 0
    assert order.window_bounds[-1] == len(order)
    seen: list[int] = []
    for number in range(order.num_windows):
        positions = np.arange(order.window_bounds[number], order.window_bounds[number + 1])
        records = order.records_of_window(number).tolist()
        assert len(records) <= (window or len(UNEVEN))
        assert set(order.locate(positions)[0].tolist()) <= set(records)
        assert (order.window_of(positions) == number).all()
        seen += records
    assert sorted(seen) == list(range(len(UNEVEN)))


def test_unshuffled_order_is_the_stored_one() -> None:
    for window in (1, 2, None):
        order = EpochOrder(UNEVEN, seed=1, epoch=1, window=window, shuffle=False)
        assert samples_of(order) == every_sample(UNEVEN)


def test_order_is_pinned() -> None:
    # Saved states and published runs rely on these numbers: they must never change.
    order = EpochOrder([3, 0, 2, 4], seed=7, epoch=1, window=2)
    assert order.record_order.tolist() == [3, 2, 0, 1]
    assert order.window_bounds.tolist() == [0, 6, 9]
    assert samples_of(order) == [
        *[(2, 0), (3, 2), (3, 0), (3, 3), (2, 1), (3, 1)],
        *[(0, 1), (0, 2), (0, 0)],
    ]


def test_epochs_and_seeds_differ() -> None:
    orders = {
        tuple(samples_of(EpochOrder([10] * 10, seed=seed, epoch=epoch, window=3)))
        for seed in range(5)
        for epoch in range(5)
    }
    assert len(orders) == 25


def test_records_of_equal_size_are_mixed_differently() -> None:
    order = EpochOrder([20] * 30, seed=1, window=1)
    within = {tuple(order.locate(np.arange(w * 20, w * 20 + 20))[1].tolist()) for w in range(30)}
    assert len(within) == 30


def test_full_window_mixes_over_all_records() -> None:
    order = EpochOrder([100] * 100, seed=1)
    records, _ = order.locate(np.arange(1000))
    assert np.unique(records).size > 95


def test_same_arguments_give_the_same_order() -> None:
    first, second = (EpochOrder(UNEVEN, seed=5, epoch=6, window=2) for _ in range(2))
    assert samples_of(first) == samples_of(second)


@pytest.mark.parametrize("position", [-1, 15])
def test_position_outside_is_refused(position: int) -> None:
    order = EpochOrder(UNEVEN)
    with pytest.raises(IndexError, match=rf"position {position} is outside \[0, 15\)"):
        order.locate([0, position])
    with pytest.raises(IndexError, match=rf"position {position} is outside \[0, 15\)"):
        order.window_of(position)


def test_sample_that_does_not_exist_is_refused() -> None:
    order = EpochOrder(UNEVEN)
    with pytest.raises(IndexError, match=r"record 8 is outside \[0, 8\)"):
        order.position_of(8, 0)
    with pytest.raises(IndexError, match=r"record 1: index 0 is outside \[0, 0\)"):
        order.position_of([0, 1], [2, 0])
    with pytest.raises(IndexError, match=r"window 3 is outside \[0, 1\)"):
        order.records_of_window(3)


def test_senseless_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"record 1: size is -2 samples, expected 0 or more"):
        EpochOrder([1, -2])
    with pytest.raises(ValueError, match=r"window is 0 records, expected at least 1; pass None"):
        EpochOrder([1], window=0)
    with pytest.raises(ValueError, match=r"epoch is -1, expected 0 or more"):
        EpochOrder([1], epoch=-1)
    with pytest.raises(ValueError, match=r"seed is -1, expected an integer"):
        EpochOrder([1], seed=-1, shuffle=False)
    with pytest.raises(TypeError, match=r"record sizes are float64, expected integers"):
        EpochOrder([1.5])
