from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfbyte.conversion.plan import MIN_SAMPLES, make_plan


@given(
    sizes=st.lists(st.integers(0, 1 << 20), max_size=600),
    record_bytes=st.integers(1, 1 << 24),
    seed=st.integers(0, (1 << 64) - 1),
    keep_order=st.booleans(),
)
def test_every_source_is_in_one_record(
    sizes: list[int], record_bytes: int, seed: int, keep_order: bool
) -> None:
    plan = make_plan(np.array(sizes, np.int64), seed=seed, record_bytes=record_bytes, keep_order=keep_order)
    records = [plan.record(number) for number in range(len(plan))]
    assert sorted(np.concatenate(records).tolist()) == list(range(len(sizes)))
    counts = [len(record) for record in records]
    assert len(counts) == 1 or min(counts) >= MIN_SAMPLES
    if keep_order:
        assert np.concatenate(records).tolist() == list(range(len(sizes)))


def test_records_are_even_and_within_their_size() -> None:
    plan = make_plan(np.full(1000, 1000, np.int64), seed=0, record_bytes=300_000, keep_order=True)
    assert [len(plan.record(number)) for number in range(len(plan))] == [250, 250, 250, 250]


def test_floor_wins_over_record_bytes() -> None:
    plan = make_plan(np.full(130, 1 << 20, np.int64), seed=0, record_bytes=1, keep_order=True)
    assert [len(plan.record(number)) for number in range(len(plan))] == [65, 65]


def test_floor_holds_beside_giants() -> None:
    sizes = np.ones(200, np.int64)
    sizes[0] = 1 << 30
    plan = make_plan(sizes, seed=0, record_bytes=1 << 20, keep_order=True)
    assert [len(plan.record(number)) for number in range(len(plan))] == [64, 64, 72]


def test_small_samples_do_not_fill_endless_records() -> None:
    plan = make_plan(np.ones(1 << 19, np.int64), seed=0, record_bytes=1 << 30, keep_order=True)
    assert [len(plan.record(number)) for number in range(len(plan))] == [1 << 18, 1 << 18]


@pytest.mark.parametrize(
    ("seed", "order"),
    [
        (0, [0, 3, 4, 9, 2, 8, 5, 6, 7, 1]),
        ((1 << 64) - 1, [0, 9, 1, 3, 8, 2, 4, 7, 5, 6]),
    ],
)
def test_shuffle_is_pinned(seed: int, order: list[int]) -> None:
    plan = make_plan(np.ones(10, np.int64), seed=seed, record_bytes=1, keep_order=False)
    assert plan.order.tolist() == order


def test_record_is_a_fair_draw_of_sorted_classes() -> None:
    plan = make_plan(np.ones(6400, np.int64), seed=7, record_bytes=640, keep_order=False)
    classes = np.arange(6400) // 640
    for number in range(len(plan)):
        counts = np.bincount(classes[plan.record(number)], minlength=10)
        assert counts.min() > 0.5 * counts.mean()


@pytest.mark.parametrize("count", [0, 1, 63, 64, 127])
def test_few_sources_make_one_record(count: int) -> None:
    assert len(make_plan(np.ones(count, np.int64), seed=0, record_bytes=1, keep_order=False)) == 1
