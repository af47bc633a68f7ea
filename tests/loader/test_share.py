from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfbyte.loader.intervals import Intervals
from halfbyte.loader.share import Share

SMALL = list(itertools.product(range(5), range(1, 7), [False, True]))
LEFT = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=6).map(Intervals.union)
WORLD = st.integers(1, 9)
BATCH = st.integers(1, 9)


def shares(left: Intervals, batch_size: int, drop_last: bool, world_size: int) -> list[Share]:
    return [Share(left, batch_size, drop_last, rank, world_size) for rank in range(world_size)]


def batches(share: Share) -> list[list[int]]:
    return [share.batch(step).tolist() for step in range(len(share))]


def flat(lists: list[list[int]]) -> list[int]:
    return [position for one in lists for position in one]


def expected_batch_sizes(count: int, steps: int, batch_size: int) -> list[int]:
    sizes = []
    for step in range(steps):
        later = steps - 1 - step
        sizes.append(min(batch_size, max(count - later, 1), count))
        count -= sizes[-1]
    return sizes


@pytest.mark.parametrize("count", range(33))
def test_ranks_cover_every_position_once(count: int) -> None:
    left = Intervals.whole(count)
    for extra, batch_size, _ in SMALL:
        taken = [flat(batches(share)) for share in shares(left, batch_size, False, extra + 1)]
        assert flat(taken) == list(range(count))


@pytest.mark.parametrize("count", range(33))
def test_batches_are_full_until_the_end(count: int) -> None:
    for extra, batch_size, _ in SMALL:
        world_size = extra + 1
        for share in shares(Intervals.whole(count), batch_size, False, world_size):
            own = count // world_size + (share.rank < count % world_size)
            sizes = [len(batch) for batch in batches(share)]
            assert sizes == expected_batch_sizes(own, len(share), batch_size)


@pytest.mark.parametrize("count", range(33))
def test_batch_is_empty_only_where_documented(count: int) -> None:
    for extra, batch_size, _ in SMALL:
        world_size = extra + 1
        for share in shares(Intervals.whole(count), batch_size, False, world_size):
            empty = [step for step, batch in enumerate(batches(share)) if not batch]
            short = count < world_size and share.rank >= count
            short |= batch_size == 1 and 0 < count % world_size <= share.rank
            assert empty == ([len(share) - 1] if short and count else [])


@pytest.mark.parametrize("count", range(33))
def test_drop_last_takes_full_batches_only(count: int) -> None:
    for extra, batch_size, _ in SMALL:
        parts = shares(Intervals.whole(count), batch_size, True, extra + 1)
        taken = [batches(share) for share in parts]
        assert {len(one) for one in taken} == {count // (extra + 1) // batch_size}
        assert all(len(batch) == batch_size for one in taken for batch in one)
        visited = flat([flat(one) for one in taken])
        assert len(set(visited)) == len(visited)
        assert set(visited) <= set(range(count))


@given(left=LEFT, batch_size=BATCH, drop_last=st.booleans(), world_size=WORLD)
@settings(deadline=None, max_examples=150)
def test_all_ranks_take_equally_many_steps(
    left: Intervals, batch_size: int, drop_last: bool, world_size: int
) -> None:
    lengths = {len(share) for share in shares(left, batch_size, drop_last, world_size)}
    full, over = divmod(left.count, world_size * batch_size)
    assert lengths == {full + (over > 0 and not drop_last)}


@given(left=LEFT, batch_size=BATCH, drop_last=st.booleans(), world_size=WORLD)
@settings(deadline=None, max_examples=150)
def test_left_after_is_what_no_rank_took(
    left: Intervals, batch_size: int, drop_last: bool, world_size: int
) -> None:
    parts = shares(left, batch_size, drop_last, world_size)
    remaining = set(left.positions(0, left.count).tolist())
    for step in range(len(parts[0]) + 1):
        after = parts[0].left_after(step)
        assert set(after.positions(0, after.count).tolist()) == remaining
        assert all(share.left_after(step) == after for share in parts)
        if step < len(parts[0]):
            remaining -= {position for share in parts for position in share.batch(step).tolist()}


@given(left=LEFT, batch_size=BATCH, drop_last=st.booleans(), world_size=WORLD, num_workers=st.integers(1, 7))
@settings(deadline=None, max_examples=150)
def test_batches_do_not_depend_on_workers(
    left: Intervals, batch_size: int, drop_last: bool, world_size: int, num_workers: int
) -> None:
    for share in shares(left, batch_size, drop_last, world_size):
        steps, alone = len(share), batches(share)
        for worker in range(num_workers):
            own = alone[steps * worker // num_workers : steps * (worker + 1) // num_workers]
            assert batches(share.for_worker(worker, num_workers)) == own


@given(left=LEFT, batch_size=BATCH, drop_last=st.booleans(), world_size=WORLD, num_workers=st.integers(1, 7))
@settings(deadline=None, max_examples=100)
def test_workers_hold_every_position_once(
    left: Intervals, batch_size: int, drop_last: bool, world_size: int, num_workers: int
) -> None:
    share = Share(left, batch_size, drop_last, world_size - 1, world_size)
    pairs = [pair for w in range(num_workers) for pair in share.for_worker(w, num_workers).left.pairs]
    assert sum(stop - start for start, stop in pairs) == left.count
    assert Intervals.union(pairs) == left


def test_step_outside_is_refused() -> None:
    share = Share(Intervals.whole(10), 4)
    for step in (-1, 3):
        with pytest.raises(IndexError, match=rf"step {step} is outside \[0, 2\] in a share of 3 steps"):
            share.batch(step)
    with pytest.raises(IndexError, match=r"step 4 is outside \[0, 3\] in a share of 3 steps"):
        share.left_after(4)


def test_senseless_shares_are_refused() -> None:
    left = Intervals.whole(10)
    with pytest.raises(ValueError, match=r"batch_size is 0, expected at least 1"):
        Share(left, 0)
    with pytest.raises(ValueError, match=r"rank is 2, expected 0 to 1 for world_size 2"):
        Share(left, 1, rank=2, world_size=2)
    for worker, num_workers in ((2, 2), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match=rf"worker is {worker}, expected 0 to num_workers - 1"):
            Share(left, 1).for_worker(worker, num_workers)
