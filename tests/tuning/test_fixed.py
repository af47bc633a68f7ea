"""Policies that know beforehand, in a loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from policies import EveryStep

import halfbyte
from halfbyte.errors import FidelityError, StateError
from halfbyte.loader.fidelity import Fidelity
from halfbyte.tuning import Decision, Fixed, Mixture, Policy, Schedule

VIEW = halfbyte.Transform(halfbyte.CenterCrop(16))


def loader(path: Path, policy: Any, **options: Any) -> halfbyte.Loader:
    return halfbyte.Loader(halfbyte.open(path, transform=VIEW), batch_size=16, fidelity=policy, **options)


def through_json(state: dict[str, Any]) -> Any:
    return json.loads(json.dumps(state))


def at_ends(source: halfbyte.Loader, *, epochs: int) -> list[Any]:
    """The fidelity at the end of each epoch."""
    seen = []
    for _ in range(epochs):
        list(source)
        seen.append(source.fidelity)
    return seen


def test_a_policy_is_asked_before_every_batch(dataset_path: Path) -> None:
    policy = EveryStep()
    source = loader(dataset_path, policy)
    for _ in range(2):
        list(source)
    assert policy.asked == [(epoch, step) for epoch in range(2) for step in range(5)]
    assert [decision.figures["samples"] for decision in policy.log] == [16 * n for n in range(10)]


def test_ranks_ask_equally_often_though_one_has_a_batch_less(dataset_path: Path) -> None:
    asked = []
    for rank in range(3):
        policy = EveryStep()
        ds = halfbyte.open(dataset_path, transform=VIEW)
        source = halfbyte.Loader(ds, batch_size=1, fidelity=policy, rank=rank, world_size=3)
        assert len(list(source)) == (26 if rank == 2 else 27)
        asked.append(policy.asked)
    assert asked[0] == asked[1] == asked[2]
    assert len(asked[0]) == 27


def stopped(path: Path, policy: Policy, steps: int) -> Any:
    """The state of a run after so many batches."""
    source = loader(path, policy)
    while steps:
        for _ in source:
            steps -= 1
            if not steps:
                break
    state = through_json(source.state_dict())
    source.close()
    return state


def run(path: Path, policy: Policy, *, epochs: int, state: Any = None) -> list[tuple[int, int, Any]]:
    """What is decided until the end, from the start or from a state."""
    source = loader(path, policy)
    if state is not None:
        source.load_state_dict(state)
    while source.epoch < epochs:
        list(source)
    return [(d.epoch, d.step, d.fidelity) for d in policy.log]


@pytest.mark.parametrize("stop", [0, 1, 3, 5])
def test_a_resumed_run_decides_what_the_whole_run_does(dataset_path: Path, stop: int) -> None:
    state = stopped(dataset_path, EveryStep(), stop)
    whole = run(dataset_path, EveryStep(), epochs=2)
    assert run(dataset_path, EveryStep(), epochs=2, state=state) == whole


def test_a_fixed_fidelity_is_what_the_number_is(dataset_path: Path) -> None:
    source = loader(dataset_path, Fixed(3))
    list(source)
    plain = loader(dataset_path, 3)
    list(plain)
    assert source.fidelity == plain.fidelity == 3
    assert source.counters.bytes_read == plain.counters.bytes_read
    assert [str(decision) for decision in source.policy.log] == [
        "epoch 0, step 0: fidelity 3, since it is fixed"
    ]


def test_fixed_at_none_is_full(dataset_path: Path) -> None:
    source = loader(dataset_path, Fixed())
    list(source)
    assert source.fidelity == source.dataset.num_levels


def test_a_schedule_changes_with_the_epoch(dataset_path: Path) -> None:
    policy = Schedule({0: 1, 2: 4, 3: None})
    source = loader(dataset_path, policy)
    seen = at_ends(source, epochs=5)
    full = source.dataset.num_levels
    assert seen == [1, 1, 4, full, full]
    assert [(d.epoch, d.fidelity) for d in policy.log] == [(0, 1), (2, 4), (3, full)]
    assert str(policy.log[1]) == "epoch 2, step 0: fidelity 4, since the schedule says so from epoch 2 on"


def test_a_schedule_goes_on_after_a_resume(dataset_path: Path) -> None:
    first = loader(dataset_path, Schedule({0: 1, 1: 2, 5: 3}))
    for _ in range(2):
        list(first)
    policy = Schedule({0: 1, 1: 2, 5: 3})
    second = loader(dataset_path, policy)
    second.load_state_dict(through_json(first.state_dict()))
    list(second)
    assert second.fidelity == 2
    assert [(d.epoch, d.fidelity) for d in policy.log] == [(0, 1), (1, 2)]


def test_a_schedule_leaves_the_word_to_policies(dataset_path: Path) -> None:
    inner, last = EveryStep(), EveryStep()
    policy = Schedule({1: inner, 0: 4, 2: None, 3: last})
    source = loader(dataset_path, policy)
    seen = at_ends(source, epochs=4)
    full = source.dataset.num_levels
    assert inner.asked == [(1, step) for step in range(5)]
    assert last.asked == [(3, step) for step in range(5)]
    assert seen == [4, inner.fidelity, full, last.fidelity]
    changes = [1 + (step + 1) % 3 for step in range(5)], [1 + step % 3 for step in range(5)]
    assert [d.fidelity for d in policy.log] == [4, *changes[0], full, *changes[1]]
    assert {d.why for d in policy.log if d.epoch in (1, 3)} == {"it is time"}
    assert len(policy.history.rows) == 20


@pytest.mark.parametrize("stop", [2, 7, 12])
def test_a_schedule_resumes_its_policies(dataset_path: Path, stop: int) -> None:
    def schedule() -> Schedule:
        return Schedule({0: EveryStep(), 2: 3})

    state = stopped(dataset_path, schedule(), stop)
    assert run(dataset_path, schedule(), epochs=3, state=state) == run(dataset_path, schedule(), epochs=3)
    with pytest.raises(StateError, match=r"policies from epochs \[0\] on, expected \[\]"):
        loader(dataset_path, Schedule({0: 1})).load_state_dict(state)


def test_a_mixture_draws_as_the_loader_does(dataset_path: Path) -> None:
    source = loader(dataset_path, Mixture({2: 3, 5: 1}))
    list(source)
    plain = loader(dataset_path, {2: 0.75, 5: 0.25})
    list(plain)
    assert source.fidelity == {2: 0.75, 5: 0.25}
    assert source.counters.bytes_read == plain.counters.bytes_read
    assert "fidelities 2 for 75 %, 5 for 25 %" in str(source.policy.log[0])
    state = through_json(source.state_dict())
    again = loader(dataset_path, Mixture({2: 3, 5: 1}))
    again.load_state_dict(state)
    assert again.policy.fidelity == {2: 0.75, 5: 0.25}


def test_decisions_go_through_json() -> None:
    for fidelity in (3, {1: 0.5, 4: 0.5}):
        decision = Decision(1, 2, fidelity, "it is so", {"cosine": 0.5})
        assert Decision.from_dict(through_json(decision.to_dict())) == decision


@pytest.mark.parametrize("epochs", [{1: 3}, {}, {0: 1, -1: 2}, {0: 1, True: 2}, {0: 1, 1.5: 2}])
def test_a_schedule_needs_epochs_from_0_on(epochs: dict[int, Fidelity]) -> None:
    with pytest.raises(ValueError, match="epoch"):
        Schedule(epochs)


@pytest.mark.parametrize("policy", [Fixed(99), Schedule({0: 1, 4: 99}), Mixture({99: 1.0}), Mixture({1: -1})])
def test_what_the_data_set_lacks_is_refused_at_once(dataset_path: Path, policy: Policy) -> None:
    with pytest.raises(FidelityError):
        loader(dataset_path, policy)


def test_a_policy_belongs_to_one_data_set(dataset_path: Path) -> None:
    policy = Fixed(1)
    with pytest.raises(RuntimeError, match="give it to a loader"):
        policy.dataset  # noqa: B018
    loader(dataset_path, policy)
    with pytest.raises(ValueError, match="make one for each data set"):
        loader(dataset_path, policy)


def test_states_of_other_policies_are_refused(dataset_path: Path) -> None:
    state = loader(dataset_path, Fixed(1)).state_dict()
    with pytest.raises(StateError, match="'Fixed', expected 'Schedule'"):
        loader(dataset_path, Schedule({0: 1})).load_state_dict(state)
    with pytest.raises(StateError, match="give it the same policy"):
        loader(dataset_path, 1).load_state_dict(state)


def test_a_policy_takes_the_state_of_a_loader_without_one(dataset_path: Path) -> None:
    plain = loader(dataset_path, 2)
    next(iter(plain))
    source = loader(dataset_path, Fixed(3))
    source.load_state_dict(plain.state_dict())
    assert len(list(source)) == 4
    assert source.fidelity == 3
    plain.close()
