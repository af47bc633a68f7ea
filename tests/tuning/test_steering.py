"""Policies at the doors that do not ask by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from policies import EveryStep
from torch.utils.data import DataLoader

import halfbyte
from halfbyte.errors import StateError
from halfbyte.tuning import Fixed, Schedule, Steering, steering

VIEW = halfbyte.Transform(halfbyte.RandomResizedCrop(16), flip=0.5)


def opened(path: Path) -> halfbyte.Dataset:
    return halfbyte.open(path, transform=VIEW)


def door(path: Path, kind: str, **options: Any) -> tuple[Any, DataLoader[Any]]:
    """What is steered, and the DataLoader over it: five batches of sixteen."""
    ds = opened(path)
    if kind == "map":
        return ds, DataLoader(ds, batch_sampler=halfbyte.BatchSampler(ds, batch_size=16), **options)
    it = halfbyte.IterableDataset(ds, batch_size=16)
    return it, DataLoader(it, batch_size=None, **options)


@pytest.mark.parametrize("kind", ["map", "iterable"])
def test_it_asks_when_a_loader_does(dataset_path: Path, kind: str) -> None:
    asked, policy = EveryStep(), EveryStep()
    loader = halfbyte.Loader(opened(dataset_path), batch_size=16, fidelity=asked)
    data, dataloader = door(dataset_path, kind)
    steered = Steering(policy, data)
    for _ in range(3):
        expected = [batch["label"].tolist() for batch in loader]
        assert [batch["label"].tolist() for batch in steered.batches(dataloader)] == expected
    assert policy.asked == asked.asked == [(epoch, step) for epoch in range(3) for step in range(5)]
    # Without workers, the samples of a map-style data set are delivered at the same moments too.
    assert [d.figures for d in policy.log] == [d.figures for d in asked.log]
    assert steered.epoch == 3


def test_views_are_those_of_the_epoch(dataset_path: Path) -> None:
    loader = halfbyte.Loader(opened(dataset_path), batch_size=16, fidelity=Fixed(2))
    data, dataloader = door(dataset_path, "iterable")
    steered = Steering(Fixed(2), data)
    for _ in range(2):
        for mine, theirs in zip(steered.batches(dataloader), loader, strict=True):
            assert torch.equal(mine["image"], theirs["image"])
    assert steered.moment.cost["bytes_read"] == loader.counters.bytes_read
    assert steered.moment.cost["samples"] == 160


@pytest.mark.parametrize("kind", ["map", "iterable"])
def test_workers_read_what_the_policy_says_and_their_bytes_are_counted(dataset_path: Path, kind: str) -> None:
    data, dataloader = door(dataset_path, kind, num_workers=2, persistent_workers=True, prefetch_factor=1)
    steered = Steering(Schedule({0: 1, 1: None}), data)
    costs = []
    for _ in range(2):
        assert sum(len(batch["label"]) for batch in steered.batches(dataloader)) == 80
        costs.append(steered.moment.cost)
    first, both = (cost["bytes_read"] for cost in costs)
    assert costs[1]["samples"] == 160
    assert 0 < first < both - first


def test_the_wait_for_a_batch_is_a_stall_and_the_step_is_not(
    dataset_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(steering, "perf_counter", lambda: now[0])

    class Slow:
        """Batches that take three seconds each, the iterator one."""

        def __len__(self) -> int:
            return 3

        def __iter__(self) -> Iterator[int]:
            now[0] += 1
            for number in range(3):
                now[0] += 3
                yield number

    class Thinking(EveryStep):
        """Takes half a second to decide."""

        def decide(self, moment: Any) -> Any:
            now[0] += 0.5
            return super().decide(moment)

    policy = Thinking()
    steered = Steering(policy, opened(dataset_path))
    for _ in range(2):
        for _ in steered.batches(Slow()):
            now[0] += 2
        now[0] += 50  # between epochs
    assert [m.cost["stall_seconds"] for m in policy.moments] == [0, 4, 7, 10, 14, 17]
    assert [m.seconds for m in policy.moments] == [0, 6.5, 12, 17.5, 24, 29.5]
    assert (steered.moment.seconds, steered.moment.cost["stall_seconds"]) == (35, 20)


def test_what_is_no_waiting_can_be_left_out(dataset_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(steering, "perf_counter", lambda: now[0])
    steered = Steering(Fixed(1), opened(dataset_path))
    steered.begin()
    now[0] += 30  # validation
    steered.wait()
    now[0] += 2
    steered.receive()
    now[0] += 1
    steered.advance()
    assert (steered.moment.seconds, steered.moment.cost["stall_seconds"]) == (3, 2)


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_resumed_run_decides_what_the_whole_run_does(dataset_path: Path, stop: int) -> None:
    whole = EveryStep()
    data, dataloader = door(dataset_path, "map")
    steered = Steering(whole, data)
    for _ in range(2):
        list(steered.batches(dataloader))

    data, dataloader = door(dataset_path, "map")
    first = Steering(EveryStep(), data)
    for step, _ in enumerate(first.batches(dataloader), start=1):
        if step == stop:
            state = json.loads(json.dumps([first.state_dict(), dataloader.batch_sampler.state_dict()]))
            break
    data, dataloader = door(dataset_path, "map")
    policy = EveryStep()
    second = Steering(policy, data)
    second.load_state_dict(state[0])
    dataloader.batch_sampler.load_state_dict(state[1])
    while second.epoch < 2:
        list(second.batches(dataloader))
    assert [(d.epoch, d.step, d.fidelity) for d in policy.log] == [
        (d.epoch, d.step, d.fidelity) for d in whole.log
    ]


def test_states_of_other_policies_are_refused(dataset_path: Path) -> None:
    state = Steering(Fixed(1), opened(dataset_path)).state_dict()
    with pytest.raises(StateError, match="'Fixed', expected 'Schedule'"):
        Steering(Schedule({0: 1}), opened(dataset_path)).load_state_dict(state)


def test_batches_without_a_length_are_refused(dataset_path: Path) -> None:
    steered = Steering(Fixed(1), opened(dataset_path))
    with pytest.raises(TypeError, match="len"):
        next(steered.batches(iter([1, 2])))  # type: ignore[arg-type]
