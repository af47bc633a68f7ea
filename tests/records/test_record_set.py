"""A data set in a store: samples and records by number, and the reads that they cost."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from golden_parts import flipped
from golden_writer import write_dataset
from record_samples import SCHEMA, fake_records, padded

from halfbyte.errors import CorruptRecord, FidelityError, NeedMoreBytes, NotADataset
from halfbyte.format.index import record_name
from halfbyte.records.record_set import RecordSet, open_records
from halfbyte.storage.local import LocalStore

SIZES = [4, 0, 7, 1, 0]
LEVELS = 3
RECORDS = fake_records(SIZES, num_levels=LEVELS)
SAMPLES = [sample for record in RECORDS for sample in record]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "set"
    write_dataset(path, RECORDS, SCHEMA, num_levels=LEVELS)
    return path


@pytest.fixture
def own_folder(tmp_path: Path) -> Path:
    """One that a test may damage."""
    write_dataset(tmp_path / "set", RECORDS, SCHEMA, num_levels=LEVELS)
    return tmp_path / "set"


@pytest.fixture
def records(folder: Path) -> RecordSet:
    return open_records(LocalStore(folder))


@pytest.mark.parametrize("fidelity", [1, 2, 3, None])
def test_samples_come_by_number(records: RecordSet, fidelity: int | None) -> None:
    assert len(records) == len(SAMPLES)
    for number, expected in enumerate(SAMPLES):
        got = records.sample(number, fidelity)
        assert [bytes(part) for part in got.slices] == padded(expected, LEVELS)[:fidelity]
        assert (got.number, got.key, got.fields) == (number, expected.key, expected.fields)
        assert (got.width, got.height, got.orientation) == (
            expected.width,
            expected.height,
            expected.orientation,
        )


def test_samples_are_found_across_empty_records(records: RecordSet) -> None:
    assert [records.locate(n) for n in (0, 3, 4, 10, 11)] == [(0, 0), (0, 3), (2, 0), (2, 6), (3, 0)]
    assert records.locate(-1) == (3, 0)
    assert records.locate(-12) == (0, 0)


@pytest.mark.parametrize("number", [12, -13])
def test_numbers_out_of_range_are_refused(records: RecordSet, number: int) -> None:
    with pytest.raises(IndexError, match=f"sample {number} of a data set of 12; give a number from 0 to 11"):
        records.sample(number)


@pytest.mark.parametrize("fidelity", [0, 4, -1, 1.0, True, "1"])
def test_fidelities_out_of_range_are_refused(records: RecordSet, fidelity: object) -> None:
    with pytest.raises(FidelityError, match=f"fidelity {fidelity!r} of a data set with levels 1 to 3"):
        records.sample(0, fidelity)
    with pytest.raises(FidelityError, match="give a whole number"):
        records.record(0, fidelity)


def test_numbers_of_numpy_are_taken(records: RecordSet) -> None:
    assert records.sample(np.int64(2), np.uint8(1)).key == SAMPLES[2].key


def test_a_record_costs_one_read_of_its_prefix(folder: Path) -> None:
    meter = Meter()
    records, reads = RecordSet(*_parts(folder), meter), meter.reads
    record = records.record(2, 2)
    assert reads == [record.header.prefix_bytes(2)] == [len(record.data)]
    records.record(2, extras=True)
    assert reads[1:] == [(folder / record_name(2)).stat().st_size]


def test_a_sample_costs_its_slices_and_a_table_once(folder: Path) -> None:
    meter = Meter()
    records, reads = RecordSet(*_parts(folder), meter), meter.reads
    records.sample(4, 2)
    records.sample(5, 2)
    table = records.table(2)[0].prefix_bytes(0)
    assert reads == [table, *(sum(map(len, s.slices[:2])) for s in SAMPLES[4:6])]


def test_a_read_that_fails_ends_too(folder: Path, tmp_path: Path) -> None:
    meter = Meter()
    _, *description = _parts(folder)
    records = RecordSet(LocalStore(tmp_path / "nowhere"), *description, meter)
    with pytest.raises(CorruptRecord, match="missing"):
        records.record(0)
    assert (meter.begun, meter.reads) == (1, [0])


class Meter:
    """Notes sizes, and that every read begins before it ends."""

    def __init__(self) -> None:
        self.begun = 0
        self.reads: list[int] = []

    def begin_read(self) -> None:
        assert self.begun == len(self.reads)
        self.begun += 1

    def end_read(self, size: int) -> None:
        self.reads.append(size)
        assert self.begun == len(self.reads)


def _parts(folder: Path) -> tuple[LocalStore, object, object]:
    opened = open_records(LocalStore(folder))
    return opened.store, opened.manifest, opened.index


def test_copies_read_on(records: RecordSet) -> None:
    records.sample(0)
    copy = pickle.loads(pickle.dumps(records))
    assert copy.sample(11).fields == records.sample(11).fields


def test_threads_share_it(records: RecordSet) -> None:
    with ThreadPoolExecutor(4) as pool:
        keys = list(pool.map(lambda n: records.sample(n % 12, 1 + n % 3).key, range(200)))
    assert keys == [SAMPLES[n % 12].key for n in range(200)]


def test_an_empty_data_set_opens(tmp_path: Path) -> None:
    write_dataset(tmp_path, [], SCHEMA, num_levels=2)
    records = open_records(LocalStore(tmp_path))
    assert (len(records), len(records.index), records.manifest.bytes_at(2)) == (0, 0, 0)
    with pytest.raises(IndexError, match="sample 0 of a data set of 0"):
        records.sample(0)


@pytest.mark.parametrize("name", ["set/none", "set/dataset.json"])
def test_what_is_no_data_set_is_named(own_folder: Path, name: str) -> None:
    path = own_folder.parent / name
    with pytest.raises(NotADataset, match=rf"{path}/dataset.json: no such file.*halfbyte convert PHOTOS OUT"):
        open_records(LocalStore(path))
    assert issubclass(NotADataset, FileNotFoundError)


def test_a_missing_record_is_named(own_folder: Path) -> None:
    (own_folder / record_name(2)).unlink()
    records = open_records(LocalStore(own_folder))
    assert records.sample(0).key == SAMPLES[0].key
    for read in (lambda: records.record(2), lambda: records.sample(4), lambda: records.salvage(2, 1)):
        with pytest.raises(CorruptRecord, match=f"{record_name(2)}: missing, but the index lists it"):
            read()


def test_a_cut_record_gives_what_is_left(own_folder: Path) -> None:
    path = own_folder / record_name(2)
    end = open_records(LocalStore(own_folder)).index.row(2).ends[2]
    path.write_bytes(path.read_bytes()[:end])
    records = open_records(LocalStore(own_folder))
    assert records.record(2, 2).fidelity == 2
    with pytest.raises(NeedMoreBytes, match=f"{path}: {end} bytes, but its level 3 ends at byte"):
        records.record(2, 3)
    with pytest.raises(NeedMoreBytes, match=r"sample 0 \(2/0.jpg\): level 3 gave 0 of"):
        records.sample(4, 3)


def test_salvage_gives_all_samples_but_the_damaged(own_folder: Path) -> None:
    path = own_folder / record_name(2)
    start = int(open_records(LocalStore(own_folder)).record(2).slice_ranges(3)[0, 0])
    path.write_bytes(flipped(path.read_bytes(), start))
    records = open_records(LocalStore(own_folder))
    with pytest.raises(CorruptRecord, match="level 1 has checksum"):
        records.record(2)
    record, damaged = records.salvage(2, 2)
    assert list(damaged) == [3]
    assert str(damaged[3]).startswith(f"{path}: sample 3 (2/3.jpg): level 1 has checksum")
    assert [bytes(p) for p in record.slices(4)] == [bytes(p) for p in SAMPLES[8].slices[:2]]


def test_fields_other_than_described_are_refused(tmp_path: Path) -> None:
    write_dataset(tmp_path, RECORDS, SCHEMA, num_levels=LEVELS, fields=())
    records = open_records(LocalStore(tmp_path))
    for read in (lambda: records.record(0), lambda: records.sample(0), lambda: records.salvage(0, 1)):
        with pytest.raises(
            CorruptRecord, match=r"has the fields \['label', 'caption'\], but dataset.json says \[\]"
        ):
            read()
