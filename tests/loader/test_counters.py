"""Counters, under a clock of the test's own, in a loader, and over the workers of a DataLoader."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import halfbyte
from halfbyte.loader.counters import Counters
from halfbyte.storage.local import LocalStore

VIEW = halfbyte.Transform(halfbyte.CenterCrop(16))


class Timed:
    """Counters whose clock the test sets."""

    def __init__(self) -> None:
        self.now = 100.0
        self.counters = Counters()
        self.counters._clock = lambda: self.now

    def at(self, now: float) -> Counters:
        self.now = 100.0 + now
        return self.counters


@pytest.fixture
def timed() -> Timed:
    return Timed()


def read(counters: Counters, size: int) -> None:
    counters.begin_read()
    counters.end_read(size)


def test_sums_have_names() -> None:
    counters = Counters()
    read(counters, 10)
    counters.add(samples=3, errors=1, stall_seconds=0.25)
    got = counters.to_dict()
    assert (got["bytes_read"], got["reads"], got["samples"], got["errors"]) == (10, 1, 3, 1)
    assert got["stall_seconds"] == counters.stall_seconds == 0.25
    assert "bytes_read=10, reads=1" in repr(counters)


def test_reads_that_overlap_count_their_seconds_once(timed: Timed) -> None:
    timed.at(0).begin_read()
    timed.at(1).begin_read()
    timed.at(3).end_read(100)
    timed.at(4).end_read(50)
    assert (timed.counters.read_seconds, timed.counters.bytes_read, timed.counters.reads) == (4, 150, 2)


def test_seconds_without_a_read_do_not_count(timed: Timed) -> None:
    for start in (0, 10, 50):
        timed.at(start).begin_read()
        timed.at(start + 2).end_read(1)
    assert timed.counters.read_seconds == 6


def test_reads_that_never_pause_are_counted_as_they_end(timed: Timed) -> None:
    timed.at(0).begin_read()
    for end in range(1, 6):
        timed.at(end - 0.5).begin_read()
        timed.at(end).end_read(10)
        assert timed.counters.bytes_read / timed.counters.read_seconds == 10


def test_decoding_overlaps_as_reading_does_and_apart_from_it(timed: Timed) -> None:
    timed.at(0).begin_decode()
    timed.at(1).begin_read()
    timed.at(2).begin_decode()
    timed.at(5).end_decode(3, 30)
    timed.at(6).end_decode(4, 50)
    timed.at(8).end_read(1)
    got = timed.counters.to_dict()
    assert (got["decode_seconds"], got["decoded"], got["decoded_bytes"]) == (6, 7, 80)
    assert got["read_seconds"] == 7


def test_reset_starts_from_zero_with_what_is_under_way(timed: Timed) -> None:
    timed.at(0).begin_read()
    timed.at(5).add(stall_seconds=1.5, samples=3, errors=2)
    timed.at(10).reset()
    assert not any(timed.counters.to_dict().values())
    timed.at(12).end_read(8)
    assert (timed.counters.read_seconds, timed.counters.bytes_read) == (2, 8)


def test_a_loader_counts_what_it_reads_and_decodes(dataset_path: Path) -> None:
    ds = halfbyte.open(LocalStore(dataset_path), transform=VIEW)
    for fidelity in (1, 4, 10):
        loader = halfbyte.Loader(ds, batch_size=8, fidelity=fidelity)
        list(loader)
        got = loader.counters
        assert got.decoded == got.samples == len(ds)
        assert got.decoded_bytes == sum(level.bytes for level in ds.levels[:fidelity])
        assert got.bytes_read > got.decoded_bytes
        assert got.read_seconds > 0
        assert got.decode_seconds > 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_child_has_no_reads_under_way(timed: Timed) -> None:
    timed.at(0).begin_read()
    child = os.fork()
    if child == 0:
        timed.at(50).begin_read()
        timed.at(51).end_read(1)
        os._exit(0 if timed.counters.read_seconds == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    timed.at(52).end_read(1)
    assert timed.counters.read_seconds == 1 + 52


def test_threads_lose_nothing() -> None:
    counters = Counters()
    threads = [threading.Thread(target=lambda: [read(counters, 3) for _ in range(2000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (counters.bytes_read, counters.reads) == (24_000, 8000)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_counts_for_itself(copied: Any) -> None:
    counters = Counters()
    read(counters, 10)
    other = copied(counters)
    read(other, 1)
    assert (counters.bytes_read, other.bytes_read, other.reads) == (10, 11, 2)


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("door", ["map", "iterable"])
def test_what_workers_read_is_seen_in_the_training_process(
    dataset_path: Path, context: str, door: str
) -> None:
    ds = halfbyte.open(dataset_path, transform=halfbyte.Transform(halfbyte.CenterCrop(16)), fidelity=3)
    options: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": context}
    if door == "map":
        loader = DataLoader(ds, batch_size=16, **options)
    else:
        it = halfbyte.IterableDataset(ds, batch_size=16)
        loader = DataLoader(it, batch_size=None, **options)
    assert sum(len(batch["image"]) for batch in loader) == 80
    assert ds.counters.samples == 80
    assert ds.counters.decode_seconds > 0
    if door == "map":
        alone = halfbyte.open(dataset_path, fidelity=3)
        for number in range(80):
            alone[number]
        # Each worker reads the tables of the records that it needs.
        assert ds.counters.bytes_read >= alone.counters.bytes_read > 0
    else:
        whole = halfbyte.Loader(ds, batch_size=16, fidelity=3)
        list(whole)
        assert whole.counters.bytes_read <= ds.counters.bytes_read <= 2 * whole.counters.bytes_read
