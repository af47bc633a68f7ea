from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfbyte.loader.intervals import Intervals

PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12)


def members(intervals: Intervals) -> list[int]:
    return [position for start, stop in intervals.pairs for position in range(start, stop)]


@given(pairs=PAIRS)
@settings(deadline=None, max_examples=200)
def test_union_holds_what_its_pairs_hold(pairs: list[tuple[int, int]]) -> None:
    expected = sorted({position for start, stop in pairs for position in range(start, stop)})
    united = Intervals.union(pairs)
    assert members(united) == expected
    assert united.count == len(expected)
    assert united.positions(0, united.count).tolist() == expected


@given(pairs=PAIRS, cuts=st.lists(st.integers(0, 60), max_size=10))
@settings(deadline=None, max_examples=200)
def test_select_takes_members_by_ordinal(pairs: list[tuple[int, int]], cuts: list[int]) -> None:
    intervals = Intervals.union(pairs)
    edges = sorted(min(cut, intervals.count) for cut in cuts)
    starts, stops = edges[0::2][: len(edges) // 2], edges[1::2]
    everything = members(intervals)
    expected = [p for start, stop in zip(starts, stops, strict=True) for p in everything[start:stop]]
    assert members(intervals.select(starts, stops)) == expected


def test_touching_intervals_melt() -> None:
    assert Intervals.union([(5, 8), (0, 2), (2, 5), (9, 9)]).pairs == ((0, 8),)


def test_whole_epoch_is_one_interval() -> None:
    assert Intervals.whole(7).pairs == ((0, 7),)
    assert Intervals.whole(0) == Intervals()


def test_equal_sets_are_equal_and_hashable() -> None:
    first, second = Intervals.union([(0, 1), (1, 2)]), Intervals.whole(2)
    assert first.count == 2  # fills the cache of one of them
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize("pairs", [((2, 2),), ((3, 1),), ((-1, 1),), ((4, 6), (0, 2)), ((0, 3), (3, 5))])
def test_unmerged_pairs_are_refused(pairs: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match=r"expected sorted, disjoint, non-empty intervals"):
        Intervals(pairs)
