"""Damage is named, never replaced, and never costs a sample that is sound."""

from __future__ import annotations

import gc
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from torch.utils.data import DataLoader

import halfbyte
from halfbyte.codecs.raw import encode_raw
from halfbyte.errors import CorruptImage, CorruptRecord, LoaderError
from halfbyte.loader.failures import FailedSample
from halfbyte.records.record_set import open_records
from photos import jpeg, photo, sample, write_dataset

VIEW = halfbyte.Transform(halfbyte.CenterCrop(16))


@pytest.fixture
def damaged(dataset_path: Path, tmp_path: Path) -> Path:
    """Sample 5 of record 0 has a wrong byte in level 3."""
    path = tmp_path / "ds"
    shutil.copytree(dataset_path, path)
    record = open_records(halfbyte.LocalStore(path)).record(0)
    start, stop = record.slice_ranges(5)[2].tolist()
    file = path / "records" / "00000.pcr"
    data = bytearray(file.read_bytes())
    data[(start + stop) // 2] ^= 0x10
    file.write_bytes(data)
    return path


def test_loader_raises_the_named_damage(damaged: Path) -> None:
    loader = halfbyte.Loader(halfbyte.open(damaged, transform=VIEW), batch_size=8)
    with pytest.raises(CorruptRecord, match=r"00000\.pcr: level 3 has checksum .* read it at fidelity 2"):
        list(loader)


def test_lower_fidelity_does_not_meet_the_damage(damaged: Path) -> None:
    loader = halfbyte.Loader(halfbyte.open(damaged, transform=VIEW, fidelity=2), batch_size=8)
    assert sum(len(batch["label"]) for batch in loader) == 80


def test_skip_loses_only_the_damaged_sample(damaged: Path) -> None:
    ds = halfbyte.open(damaged, transform=VIEW, on_error="skip")
    loader = halfbyte.Loader(ds, batch_size=8)
    seen = sorted(label for batch in loader for label in batch["label"].tolist())
    assert seen == [i for i in range(80) if i != 5]
    assert loader.counters.errors == 1
    assert loader.counters.samples == 79


def test_dataset_names_sample_and_level(damaged: Path) -> None:
    ds = halfbyte.open(damaged, transform=VIEW, on_error="skip")
    with pytest.raises(
        CorruptRecord, match=r"00000\.pcr: sample 5 \(photos/0005\.jpg\): level 3 has checksum"
    ):
        ds[5]
    assert [item["label"] for item in ds.__getitems__([4, 5, 6])] == [4, 6]


def test_function_is_told_of_each_failure(damaged: Path) -> None:
    told: list[FailedSample] = []
    ds = halfbyte.open(damaged, transform=VIEW, on_error=told.append)
    list(halfbyte.Loader(ds, batch_size=8))
    assert [(f.number, f.record, f.index, f.key) for f in told] == [(5, 0, 5, "photos/0005.jpg")]
    assert "level 3" in str(told[0].error)


def test_missing_record_is_named(dataset_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "ds"
    shutil.copytree(dataset_path, path)
    (path / "records" / "00004.pcr").unlink()
    ds = halfbyte.open(path, transform=VIEW)
    with pytest.raises(CorruptRecord, match=r"00004\.pcr: missing, but the index lists it"):
        list(halfbyte.Loader(ds, batch_size=8))
    ds = halfbyte.open(path, transform=VIEW, on_error="skip")
    loader = halfbyte.Loader(ds, batch_size=8)
    assert sum(len(batch["label"]) for batch in loader) == 50
    assert loader.counters.errors == 30


class BrokenStore(halfbyte.LocalStore):
    def read(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        if path.endswith("00001.pcr"):
            raise OSError(5, "Input/output error")
        return super().read(path, start, stop)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        raise AssertionError("not used here")


def test_failing_disk_reaches_the_consumer_named(dataset_path: Path) -> None:
    loader = halfbyte.Loader(halfbyte.open(BrokenStore(dataset_path), transform=VIEW), batch_size=8)
    with pytest.raises(LoaderError, match=r"00001\.pcr: cannot be read \(\[Errno 5\].*check the disk"):
        list(loader)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_failure_in_a_worker_arrives_named(damaged: Path, context: str) -> None:
    it = halfbyte.IterableDataset(halfbyte.open(damaged, transform=VIEW), batch_size=8)
    workers = DataLoader(it, batch_size=None, num_workers=2, multiprocessing_context=context)
    with pytest.raises(CorruptRecord, match=r"00000\.pcr: level 3 has checksum"):
        list(workers)


def loader_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("halfbyte")]


def wait_for_no_threads() -> None:
    deadline = time.monotonic() + 10
    while loader_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert loader_threads() == []


def test_no_thread_outlives_an_epoch(dataset_path: Path) -> None:
    list(halfbyte.Loader(halfbyte.open(dataset_path, transform=VIEW), batch_size=8))
    wait_for_no_threads()


def test_no_thread_outlives_a_dropped_iteration(dataset_path: Path) -> None:
    def leave_early() -> Iterator[object]:
        yield next(iter(halfbyte.Loader(halfbyte.open(dataset_path, transform=VIEW), batch_size=8)))

    list(leave_early())
    gc.collect()
    wait_for_no_threads()


def test_interrupt_ends_cleanly(dataset_path: Path) -> None:
    code = f"""
from pathlib import Path
import halfbyte
store = halfbyte.ThrottledStore(halfbyte.LocalStore(Path({str(dataset_path)!r})), bandwidth=20_000)
ds = halfbyte.open(store, transform=halfbyte.Transform(halfbyte.CenterCrop(16)))
print("ready", flush=True)
for _ in range(100):
    for batch in halfbyte.Loader(ds, batch_size=4):
        pass
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert errors.strip().endswith("KeyboardInterrupt")
    assert errors.count("Traceback") == 1


def test_skip_holds_without_a_crop_too(tmp_path: Path) -> None:
    cut = encode_raw(jpeg(photo(1))[:-200], key="cut", fields={"label": 1})
    path = write_dataset(tmp_path / "ds", [[sample(0), cut, sample(2)]])
    ds = halfbyte.open(path, on_error="skip")
    assert [item["label"] for item in ds.__getitems__([0, 1, 2])] == [0, 2]
    assert ds.counters.errors == 1
    with pytest.raises(CorruptImage, match="the image is cut short: replace the file"):
        ds[1]
