"""Sums over threads and over the workers of a DataLoader."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

import halfbyte
from halfbyte.loader.counters import Counters


def test_sums_are_by_name() -> None:
    counters = Counters()
    counters.count_read(10)
    counters.count_read(5)
    counters.add(samples=3, errors=1, decode_seconds=0.5, stall_seconds=0.25)
    assert counters.to_dict() == {
        "bytes_read": 15,
        "reads": 2,
        "samples": 3,
        "errors": 1,
        "decode_seconds": 0.5,
        "stall_seconds": 0.25,
    }
    assert "bytes_read=15, reads=2" in repr(counters)
    counters.reset()
    assert not any(counters.to_dict().values())


def test_threads_lose_nothing() -> None:
    counters = Counters()
    threads = [
        threading.Thread(target=lambda: [counters.count_read(3) for _ in range(2000)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (counters.bytes_read, counters.reads) == (24_000, 8000)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_counts_for_itself(copied: Any) -> None:
    counters = Counters()
    counters.count_read(10)
    other = copied(counters)
    other.count_read(1)
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
