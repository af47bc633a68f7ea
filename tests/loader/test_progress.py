from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfbyte.errors import HalfbyteError, StateError
from halfbyte.loader.intervals import Intervals
from halfbyte.loader.order import EpochOrder
from halfbyte.loader.progress import State, merge_states
from halfbyte.loader.share import Share

SAVED: dict[str, Any] = {
    **{"version": 1, "seed": 3, "epoch": 2, "num_samples": 100, "window": 8, "shuffle": True},
    **{"left": [[10, 20], [30, 100]], "scope": "all"},
}
PART: dict[str, Any] = {**SAVED, "scope": "part", "worker": [0, 2]}


def reload(left: Intervals, num_samples: int) -> Intervals:
    """Send what is left through a saved state, as a loader does."""
    state = State(seed=1, epoch=0, num_samples=num_samples, window=None, shuffle=True, left=left)
    return State.from_dict(json.loads(json.dumps(state.to_dict()))).left


@given(
    count=st.integers(0, 60),
    batch_size=st.integers(1, 7),
    world_size=st.integers(1, 6),
    drop_last=st.booleans(),
)
@settings(deadline=None, max_examples=120)
def test_same_topology_goes_on_with_the_same_batches(
    count: int, batch_size: int, world_size: int, drop_last: bool
) -> None:
    whole = [Share(Intervals.whole(count), batch_size, drop_last, r, world_size) for r in range(world_size)]
    for share in whole:
        for step in range(len(share) + 1):
            left = reload(share.left_after(step), count)
            rest = Share(left, batch_size, drop_last, share.rank, world_size)
            resumed = [rest.batch(s).tolist() for s in range(len(rest))]
            assert resumed == [share.batch(s).tolist() for s in range(step, len(share))]


TOPOLOGY = st.tuples(st.integers(1, 6), st.integers(1, 7), st.floats(0, 1))


@given(count=st.integers(0, 200), stages=st.lists(TOPOLOGY, max_size=6), last=TOPOLOGY)
@settings(deadline=None, max_examples=150)
def test_any_chain_of_topologies_visits_every_sample_once(
    count: int, stages: list[tuple[int, int, float]], last: tuple[int, int, float]
) -> None:
    left, visited = Intervals.whole(count), []
    for world_size, batch_size, share_done in [*stages, (last[0], last[1], 1.0)]:
        ranks = [Share(left, batch_size, rank=r, world_size=world_size) for r in range(world_size)]
        steps = int(len(ranks[0]) * share_done)
        visited += [p for rank in ranks for step in range(steps) for p in rank.batch(step).tolist()]
        left = reload(ranks[-1].left_after(steps), count)
    assert sorted(visited) == list(range(count))
    assert left == Intervals()


def test_resumed_epoch_visits_every_sample_of_every_record() -> None:
    order = EpochOrder([3, 0, 7, 5, 1], seed=9, epoch=4, window=2)
    first = [Share(Intervals.whole(len(order)), 2, rank=r, world_size=3) for r in range(3)]
    positions = [share.batch(0) for share in first]
    state = State.from_dict(State.of(order, first[0].left_after(1)).to_dict())
    rest = Share(state.left, 5)
    positions += [rest.batch(step) for step in range(len(rest))]
    records, indices = order.locate(np.concatenate(positions))
    visited = sorted(zip(records.tolist(), indices.tolist(), strict=True))
    assert visited == [(r, i) for r, size in enumerate([3, 0, 7, 5, 1]) for i in range(size)]


@given(
    count=st.integers(0, 80),
    world_size=st.integers(1, 4),
    num_workers=st.integers(1, 5),
    drop_last=st.booleans(),
    data=st.data(),
)
@settings(deadline=None, max_examples=120)
def test_merged_workers_leave_what_none_took(
    count: int, world_size: int, num_workers: int, drop_last: bool, data: st.DataObject
) -> None:
    left = set(range(count))
    states = []
    order = EpochOrder([count], seed=1)
    for worker in range(num_workers):
        ranks = [Share(Intervals.whole(count), 3, drop_last, r, world_size) for r in range(world_size)]
        parts = [rank.for_worker(worker, num_workers) for rank in ranks]
        steps = data.draw(st.integers(0, len(parts[0])))
        left -= {p for part in parts for step in range(steps) for p in part.batch(step).tolist()}
        states += [State.of(order, part.left_after(steps), (worker, num_workers)).to_dict() for part in parts]
    merged = State.from_dict(merge_states(data.draw(st.permutations(states))))
    assert merged.worker is None
    assert set(merged.left.positions(0, merged.left.count).tolist()) == left
    assert merge_states(states[::world_size]) == merged.to_dict()  # the workers of rank 0 know it all


@given(count=st.integers(0, 80), world_size=st.integers(1, 4), drop_last=st.booleans())
@settings(deadline=None, max_examples=60)
def test_worker_goes_on_from_its_own_part(count: int, world_size: int, drop_last: bool) -> None:
    whole = Share(Intervals.whole(count), 3, drop_last, world_size - 1, world_size)
    for worker in range(3):
        part = whole.for_worker(worker, 3)
        for step in range(len(part) + 1):
            rest = Share(part.left_after(step), 3, drop_last, world_size - 1, world_size)
            resumed = [rest.batch(s).tolist() for s in range(len(rest))]
            assert resumed == [part.batch(s).tolist() for s in range(step, len(part))]


@pytest.mark.parametrize("saved", [SAVED, PART, {**SAVED, "window": None, "left": [], "seed": 2**64 - 1}])
def test_state_survives_json(saved: dict[str, Any]) -> None:
    assert State.from_dict(json.loads(json.dumps(saved))).to_dict() == saved


def test_state_of_many_ranks_stays_small() -> None:
    share = Share(Intervals.whole(10**8), 256, world_size=64)
    order = EpochOrder([10**8], shuffle=False)
    assert len(json.dumps(State.of(order, share.left_after(1000)).to_dict())) < 2000


def test_merging_whole_states_of_all_ranks_is_allowed() -> None:
    assert merge_states([SAVED, dict(SAVED)]) == SAVED


BAD_VALUES = [
    ({"version": 2}, r"state: version 2, expected 1; load it with the halfbyte release that saved it"),
    ({"colour": 1}, r"unknown keys \['colour'\], expected \['epoch'"),
    ({"worker": [0, 1]}, r"unknown keys \['worker'\]"),
    ({"scope": "part"}, r"missing keys \['worker'\]"),
    ({"scope": "some"}, r"scope is 'some', expected \"all\" or \"part\""),
    ({"seed": -1}, r"seed is -1, expected an integer in \[0, 2\*\*64\)"),
    ({"seed": 2**64}, r"seed is 18446744073709551616, expected an integer in"),
    ({"epoch": 1.5}, r"epoch is 1.5, expected an integer of at least 0"),
    ({"epoch": True}, r"epoch is True, expected an integer"),
    ({"num_samples": "9"}, r"num_samples is '9', expected an integer"),
    ({"num_samples": 99}, r"left ends at position 100, but the epoch has 99 samples; load the state"),
    ({"window": 0}, r"window is 0, expected null or an integer of at least 1"),
    ({"shuffle": 1}, r"shuffle is 1, expected true or false"),
    ({"left": None}, r"left is None, expected a list of \[start, stop\]"),
    ({"left": [[1, 2, 3]]}, r"left is \[\[1, 2, 3\]\], expected a list of \[start, stop\]"),
    ({"left": [[-1, 2]]}, r"left is \[\[-1, 2\]\], expected a list of"),
    ({"left": [[2.0, 3.0]]}, r"left is \[\[2.0, 3.0\]\], expected a list of"),
    ({"left": [[5, 5]]}, r"left has \[5, 5\], expected start < stop"),
    ({"left": [[5, 3]]}, r"left has \[5, 3\], expected start < stop"),
    ({"left": [[0, 9], [8, 12]]}, r"left has \[8, 12\] that overlaps one up to 9"),
    ({"scope": "part", "worker": [2, 2]}, r"worker is \(2, 2\), expected \[worker, num_workers\]"),
    ({"scope": "part", "worker": 3}, r"worker is 3, expected \[worker, num_workers\]"),
]


@pytest.mark.parametrize(("change", "message"), BAD_VALUES)
def test_bad_state_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(StateError, match=message) as caught:
        State.from_dict(SAVED | change)
    assert isinstance(caught.value, HalfbyteError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("key", sorted(SAVED))
def test_state_without_a_key_is_refused(key: str) -> None:
    rest = {name: value for name, value in SAVED.items() if name != key}
    message = r"version None, expected 1" if key == "version" else rf"missing keys \['{key}'\]"
    with pytest.raises(StateError, match=message):
        State.from_dict(rest)


@pytest.mark.parametrize("saved", [None, [], "state", 3])
def test_state_of_another_type_is_refused(saved: Any) -> None:
    with pytest.raises(StateError, match=r"state: got \w+, expected a mapping"):
        State.from_dict(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_samples": 101}, r"saved with num_samples 100, but this loader has num_samples 101"),
        (
            {"seed": 4},
            r"saved with seed 3, but this loader has seed 4; load it with the same data set and seed",
        ),
        ({"window": None}, r"saved with window 8, but this loader has window None"),
        ({"shuffle": False}, r"saved with shuffle True, but this loader has shuffle False"),
    ],
)
def test_state_of_another_order_is_refused(change: dict[str, Any], message: str) -> None:
    here: dict[str, Any] = {"seed": 3, "num_samples": 100, "window": 8, "shuffle": True}
    State.from_dict(SAVED).require(**here)
    with pytest.raises(StateError, match=message):
        State.from_dict(SAVED).require(**here | change)


OTHER = {**PART, "worker": [1, 2], "left": [[20, 30]]}


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([], r"states: got none, expected one for each worker"),
        ([PART], r"workers \[1\] of 2 are missing, expected all; give the state of every worker"),
        ([PART, {**OTHER, "worker": [1, 3]}], r"saved with 2 and 3 workers .*, expected one number"),
        ([PART, OTHER, SAVED], r"saved with 2 and None workers"),
        ([PART, {**OTHER, "epoch": 3}], r"states: epoch is 2 and 3, expected the same in all"),
        ([PART, {**OTHER, "seed": 9}], r"states: seed is 3 and 9, expected the same in all"),
        ([PART, {**OTHER, "left": [[15, 30]]}], r"left has \[15, 30\] that overlaps one up to 20"),
        ([PART, OTHER, {**OTHER, "left": [[21, 30]]}], r"leave different positions for worker \(1, 2\)"),
        ([SAVED, {**SAVED, "left": []}], r"two ranks leave different positions for worker None"),
        ([PART, {**OTHER, "version": 0}], r"state: version 0, expected 1"),
    ],
)
def test_states_that_do_not_belong_together_are_refused(states: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(StateError, match=message):
        merge_states(states)
