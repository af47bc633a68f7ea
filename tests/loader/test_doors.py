"""The three doors give the same samples, and each goes on exactly where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import halfbyte
from halfbyte.errors import StateError
from photos import build_dataset

pytestmark = [
    # Of torchdata, which calls what torch has deprecated.
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),
    # More workers than cores is what some of these tests are about.
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]

NUM_SAMPLES = 80
VIEW = halfbyte.Transform(halfbyte.RandomResizedCrop(16), flip=0.5)


def opened(path: Path, **options: Any) -> halfbyte.Dataset:
    return halfbyte.open(path, transform=VIEW, fidelity=5, **options)


def labels(batches: Any) -> list[int]:
    return [label for batch in batches for label in batch["label"].tolist()]


def same(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    return len(one) == len(other) and all(
        torch.equal(a["image"], b["image"]) and torch.equal(a["label"], b["label"])
        for a, b in zip(one, other, strict=True)
    )


def by_first_label(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(batches, key=lambda batch: int(batch["label"][0]))


def test_loader_covers_an_epoch_once(dataset_path: Path) -> None:
    loader = halfbyte.Loader(opened(dataset_path), batch_size=7)
    batches = list(loader)
    assert sorted(labels(batches)) == list(range(NUM_SAMPLES))
    assert len(batches) == 12
    assert batches[0]["image"].shape == (7, 3, 16, 16)
    assert batches[0]["image"].dtype == torch.uint8


@pytest.mark.parametrize("workers", [0, 2])
def test_sampler_gives_the_loader_batches(dataset_path: Path, workers: int) -> None:
    ds = opened(dataset_path)
    expected = list(halfbyte.Loader(ds, batch_size=8))
    sampler = halfbyte.BatchSampler(ds, batch_size=8)
    assert same(list(DataLoader(ds, batch_sampler=sampler, num_workers=workers)), expected)


@pytest.mark.parametrize(
    ("workers", "context"), [(0, None), (1, "fork"), (3, "fork"), (2, "spawn"), (2, "forkserver")]
)
def test_iterable_gives_the_loader_batches(dataset_path: Path, workers: int, context: str | None) -> None:
    ds = opened(dataset_path)
    expected = list(halfbyte.Loader(ds, batch_size=8))
    it = halfbyte.IterableDataset(ds, batch_size=8)
    got = list(DataLoader(it, batch_size=None, num_workers=workers, multiprocessing_context=context))
    assert same(by_first_label(got), by_first_label(expected))


def test_epochs_differ_and_advance(dataset_path: Path) -> None:
    loader = halfbyte.Loader(opened(dataset_path), batch_size=8)
    first, second = list(loader), list(loader)
    assert loader.epoch == 2
    assert labels(first) != labels(second)
    loader.set_epoch(0)
    assert same(list(loader), first)


def test_unshuffled_order_is_the_stored_one(dataset_path: Path) -> None:
    loader = halfbyte.Loader(opened(dataset_path), batch_size=8, shuffle=False)
    assert labels(loader) == list(range(NUM_SAMPLES))


@pytest.mark.parametrize("window", [1, 2, None])
def test_windows_cover_too(dataset_path: Path, window: int | None) -> None:
    loader = halfbyte.Loader(opened(dataset_path), batch_size=9, window=window, prefetch_bytes=1)
    assert sorted(labels(loader)) == list(range(NUM_SAMPLES))


@pytest.mark.parametrize("drop_last", [False, True])
def test_loader_resumes_at_every_step(dataset_path: Path, drop_last: bool) -> None:
    def make() -> halfbyte.Loader:
        return halfbyte.Loader(opened(dataset_path), batch_size=13, drop_last=drop_last)

    loader = make()
    states, batches = [json.dumps(loader.state_dict())], []
    for batch in loader:
        batches.append(batch)
        states.append(json.dumps(loader.state_dict()))
    following = list(loader)
    for step, state in enumerate(states[:-1]):
        again = make()
        again.load_state_dict(json.loads(state))
        assert len(again) == len(batches) - step
        assert same(list(again), batches[step:])
    again = make()
    again.load_state_dict(json.loads(states[-1]))
    assert same(list(again), following)


def test_resume_on_other_ranks_covers_the_rest(dataset_path: Path) -> None:
    before = [halfbyte.Loader(opened(dataset_path), batch_size=5, rank=r, world_size=3) for r in range(3)]
    iterators = [iter(loader) for loader in before]
    seen = labels([next(iterator) for _ in range(2) for iterator in iterators])
    states = [loader.state_dict() for loader in before]
    assert states[0] == states[1] == states[2]
    for rank in range(2):
        after = halfbyte.Loader(opened(dataset_path), batch_size=4, rank=rank, world_size=2)
        after.load_state_dict(states[0])
        seen += labels(after)
    assert sorted(seen) == list(range(NUM_SAMPLES))


@pytest.mark.parametrize("batch_size", [1, 3, 80, 100])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("world_size", [1, 3])
def test_len_is_the_number_of_batches(
    dataset_path: Path, batch_size: int, drop_last: bool, world_size: int
) -> None:
    for rank in range(world_size):
        options = {"batch_size": batch_size, "drop_last": drop_last, "rank": rank, "world_size": world_size}
        ds = opened(dataset_path)
        loader = halfbyte.Loader(ds, **options)
        assert len(loader) == len(list(loader))
        sampler = halfbyte.BatchSampler(ds, **options)
        assert len(sampler) == len(list(sampler))


def stateful(path: Path, workers: int) -> StatefulDataLoader:
    it = halfbyte.IterableDataset(opened(path), batch_size=8)
    return StatefulDataLoader(it, batch_size=None, num_workers=workers)


def sampled(path: Path, workers: int) -> StatefulDataLoader:
    ds = opened(path)
    return StatefulDataLoader(ds, batch_sampler=halfbyte.BatchSampler(ds, batch_size=8), num_workers=workers)


@pytest.mark.parametrize("make", [stateful, sampled])
@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_dataloader_resumes(
    dataset_path: Path, make: Callable[[Path, int], StatefulDataLoader], workers: int
) -> None:
    loader = make(dataset_path, workers)
    batches, states = [], []
    for batch in loader:
        batches.append(batch)
        states.append(loader.state_dict())
    for step in (0, 4, 8):
        again = make(dataset_path, workers)
        again.load_state_dict(states[step])
        assert same(list(again), batches[step + 1 :])


def test_worker_states_merge_for_other_numbers(dataset_path: Path) -> None:
    it = halfbyte.IterableDataset(opened(dataset_path), batch_size=8)
    loader = StatefulDataLoader(it, batch_size=None, num_workers=3)
    iterator = iter(loader)
    seen = labels([next(iterator) for _ in range(4)])
    state = loader.state_dict()["_snapshot"]["_worker_snapshots"]
    del iterator
    merged = halfbyte.merge_states(worker_states(state))
    again = halfbyte.IterableDataset(opened(dataset_path), batch_size=8)
    again.load_state_dict(merged)
    rest = list(DataLoader(again, batch_size=None, num_workers=2))
    assert sorted(seen + labels(rest)) == list(range(NUM_SAMPLES))


def worker_states(values: Any) -> Iterator[dict[str, Any]]:
    """Every halfbyte state inside torchdata's nested one."""
    if isinstance(values, dict):
        if "num_samples" in values:
            yield values
        else:
            for value in values.values():
                yield from worker_states(value)


def test_plain_dataloader_sampler_state_takes_the_count(dataset_path: Path) -> None:
    ds = opened(dataset_path)
    expected = list(halfbyte.Loader(ds, batch_size=8))
    sampler = halfbyte.BatchSampler(ds, batch_size=8)
    iterator = iter(DataLoader(ds, batch_sampler=sampler, num_workers=2))
    for _ in range(3):
        next(iterator)
    state = sampler.state_dict(batches_done=3)
    again = halfbyte.BatchSampler(ds, batch_size=8)
    again.load_state_dict(state)
    assert same(list(DataLoader(ds, batch_sampler=again)), expected[3:])


def test_set_epoch_reaches_living_workers(dataset_path: Path) -> None:
    ds = opened(dataset_path)
    it = halfbyte.IterableDataset(ds, batch_size=8)
    loader = DataLoader(it, batch_size=None, num_workers=2, persistent_workers=True)
    for epoch in range(3):
        it.set_epoch(epoch)
        expected = halfbyte.Loader(ds, batch_size=8)
        expected.set_epoch(epoch)
        assert same(by_first_label(list(loader)), by_first_label(list(expected)))


def test_epoch_iterated_again_warns(dataset_path: Path) -> None:
    it = halfbyte.IterableDataset(opened(dataset_path), batch_size=8)
    first = labels(it)
    with pytest.warns(UserWarning, match=r"epoch 0 is iterated again: .* Call set_epoch\(epoch\)"):
        assert labels(it) == first
    it.set_epoch(1)
    assert labels(it) != first
    evaluation = halfbyte.open(dataset_path, transform=halfbyte.Transform(halfbyte.CenterCrop(16)))
    it = halfbyte.IterableDataset(evaluation, batch_size=8, shuffle=False)
    assert labels(it) == labels(it) == list(range(NUM_SAMPLES))


def test_state_of_other_data_is_refused(dataset_path: Path) -> None:
    loader = halfbyte.Loader(opened(dataset_path), batch_size=8)
    with pytest.raises(StateError, match="saved with seed 0, but this loader has seed 1"):
        halfbyte.Loader(opened(dataset_path), batch_size=8, seed=1).load_state_dict(loader.state_dict())


def test_transform_without_crop_is_refused(dataset_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no crop.*Transform\(RandomResizedCrop"):
        halfbyte.Loader(halfbyte.open(dataset_path), batch_size=8)


@pytest.mark.parametrize("sizes", [[], [0], [1], [2], [1, 0, 1]])
@pytest.mark.parametrize("world_size", [1, 3])
def test_tiny_data_sets_are_covered(tmp_path: Path, sizes: list[int], world_size: int) -> None:
    ds = opened(build_dataset(tmp_path / "ds", sizes))

    def batches_of(door: Any, rank: int) -> list[dict[str, Any]]:
        batches = door(ds, batch_size=4, rank=rank, world_size=world_size)
        expected = len(batches)
        given = list(DataLoader(ds, batch_sampler=batches) if door is halfbyte.BatchSampler else batches)
        assert len(given) == expected
        return given

    for door in (halfbyte.Loader, halfbyte.IterableDataset, halfbyte.BatchSampler):
        every = [batch for rank in range(world_size) for batch in batches_of(door, rank)]
        assert sorted(labels(every)) == list(range(sum(sizes)))
