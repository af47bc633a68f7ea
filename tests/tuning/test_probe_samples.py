"""Samples for a probe: drawn by hashes, read once, decoded at any fidelity in the same views."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import halfbyte
from halfbyte.errors import CorruptRecord
from halfbyte.loader.dataset import SampleRequest
from halfbyte.tuning.probe_samples import ProbeSamples, draw_numbers
from photos import build_dataset

RANDOM_VIEW = halfbyte.Transform(halfbyte.RandomResizedCrop(16), flip=0.5)


def draw(count: int = 20, size: int = 80, **key: int) -> list[int]:
    return draw_numbers(count, size, **{"seed": 0, "epoch": 0, "probe": 0, **key}).tolist()


def test_the_same_key_draws_the_same() -> None:
    state = torch.get_rng_state()
    assert draw() == draw()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("other", [{"seed": 1}, {"epoch": 1}, {"probe": 1}])
def test_another_key_draws_others(other: dict[str, int]) -> None:
    assert sorted(draw()) != sorted(draw(**other))


def test_ranks_share_no_sample() -> None:
    ranks = [draw(rank=rank, world_size=4) for rank in range(4)]
    assert sorted(number for numbers in ranks for number in numbers) == list(range(80))


def test_all_samples_are_drawn_alike() -> None:
    counts = np.bincount([n for probe in range(400) for n in draw(probe=probe)], minlength=80)
    assert counts.mean() == 100
    # A binomial's deviation is 8.7 here; 5 of them.
    assert counts.min() > 56
    assert counts.max() < 144


def test_small_data_sets_give_samples_again() -> None:
    assert sorted(draw(20, 8)) == sorted([*range(8)] * 2 + draw(20, 8)[16:])
    assert draw(3, 1) == [0, 0, 0]


@pytest.mark.parametrize("fidelity", [1, 4, 10])
def test_batches_are_what_a_loader_yields(dataset_path: Path, fidelity: int) -> None:
    ds = halfbyte.open(dataset_path, transform=RANDOM_VIEW, fidelity=fidelity, seed=3)
    numbers = np.array(draw(10))
    samples = ProbeSamples.read(ds, numbers, batch_size=4, epoch=5)
    batches = list(samples.at(fidelity))
    assert [len(batch["label"]) for batch in batches] == [4, 4, 2]
    assert batches[0].keys() == next(iter(halfbyte.Loader(ds, batch_size=4))).keys()
    labels = torch.cat([batch["label"] for batch in batches])
    assert labels.tolist() == numbers.tolist()
    images = torch.cat([batch["image"] for batch in batches])
    expected = ds.__getitems__([SampleRequest(int(number), 5) for number in numbers])
    assert all(np.array_equal(a, b["image"]) for a, b in zip(images.numpy(), expected, strict=True))


def test_samples_are_read_once(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, transform=RANDOM_VIEW)
    samples = ProbeSamples.read(ds, np.arange(8), batch_size=4, epoch=0)
    read = ds.counters.bytes_read
    assert read > 0
    for fidelity in (1, 10, 5):
        list(samples.at(fidelity))
    assert ds.counters.bytes_read == read


def test_split_parts_share_no_batch(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, transform=RANDOM_VIEW)
    first, rest = ProbeSamples.read(ds, np.arange(20), batch_size=4, epoch=0).split(3)
    assert torch.cat([batch["label"] for batch in first.at(1)]).tolist() == list(range(12))
    assert torch.cat([batch["label"] for batch in rest.at(1)]).tolist() == list(range(12, 20))


@pytest.fixture
def damaged_path(tmp_path: Path) -> Path:
    """A data set whose second record ends early."""
    path = build_dataset(tmp_path / "ds", [8, 8])
    record = sorted((path / "records").iterdir())[1]
    record.write_bytes(record.read_bytes()[:-2000])
    return path


def test_what_cannot_be_read_is_an_error(damaged_path: Path) -> None:
    ds = halfbyte.open(damaged_path, transform=RANDOM_VIEW)
    with pytest.raises((CorruptRecord, EOFError)):
        ProbeSamples.read(ds, np.arange(16), batch_size=4, epoch=0)


def test_what_cannot_be_read_is_left_out_if_asked(damaged_path: Path) -> None:
    ds = halfbyte.open(damaged_path, transform=RANDOM_VIEW, on_error="skip")
    samples = ProbeSamples.read(ds, np.arange(16), batch_size=4, epoch=0)
    left = [torch.cat([batch["label"] for batch in samples.at(k)]).tolist() for k in (1, 10)]
    assert left[0] == left[1]
    assert set(range(8)) <= set(left[0]) < set(range(16))
    assert ds.counters.errors == 16 - len(left[0])


def test_nothing_left_is_an_error(damaged_path: Path) -> None:
    ds = halfbyte.open(damaged_path, transform=RANDOM_VIEW, on_error="skip")
    with pytest.raises(ValueError, match="none of the samples"):
        ProbeSamples.read(ds, np.array([15]), batch_size=4, epoch=0)
