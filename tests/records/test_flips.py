"""A changed byte anywhere in a data set is found, and the file that has it is named."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from golden_writer import write_dataset
from record_samples import SCHEMA, encode, fake_records, joined

from halfbyte.errors import CorruptRecord, RecordError
from halfbyte.records.record import parse_record
from halfbyte.records.record_set import open_records
from halfbyte.storage.local import LocalStore

LEVELS = 4


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "set"
    write_dataset(path, fake_records([6, 0, 9], num_levels=LEVELS), SCHEMA, num_levels=LEVELS)
    return path


def read_all(folder: Path) -> None:
    records = open_records(LocalStore(folder))
    for number in range(len(records.index)):
        records.record(number, extras=True)


def test_two_hundred_random_flips_are_found_and_named(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    shutil.copytree(sound, folder)
    read_all(folder)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    rng = np.random.default_rng(2026)
    for turn in range(200):
        path = files[turn % len(files)]
        data = path.read_bytes()
        at = int(rng.integers(len(data)))
        path.write_bytes(data[:at] + bytes([data[at] ^ int(rng.integers(1, 256))]) + data[at + 1 :])
        with pytest.raises(RecordError, match=rf"^{re.escape(str(path))}: "):
            read_all(folder)
        path.write_bytes(data)


def test_every_byte_of_a_record_counts() -> None:
    data = joined(encode(fake_records([2], num_levels=2)[0], num_levels=2))
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
        with pytest.raises(CorruptRecord, match=r"^x: .*copy (it|the file) again"):
            parse_record(damaged, fidelity=2, where="x", extras=True)


def test_damage_is_named_by_its_section() -> None:
    data = joined(encode(fake_records([2], num_levels=2)[0], num_levels=2))
    header = parse_record(data, fidelity=0, where="x").header
    for section, name in zip(header.sections, ("sample table", "level 1", "level 2", "extras"), strict=True):
        damaged = bytearray(data)
        damaged[section.end - 1] ^= 1
        with pytest.raises(CorruptRecord, match=rf"{name} has checksum .* \(offset {section.offset}, "):
            parse_record(bytes(damaged), fidelity=2, where="x", extras=True)


def test_a_flip_in_one_slice_is_found_by_reading_that_sample(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    shutil.copytree(sound, folder)
    start, stop = open_records(LocalStore(folder)).record(2).slice_ranges(4)[0].tolist()
    path = folder / "records" / "00002.pcr"
    data = bytearray(path.read_bytes())
    data[(start + stop) // 2] ^= 0x40
    path.write_bytes(bytes(data))
    records = open_records(LocalStore(folder))
    with pytest.raises(CorruptRecord, match=r"sample 4 \(2/4.jpg\): level 1 has checksum"):
        records.sample(10)
    assert records.sample(9).key == "2/3.jpg"
