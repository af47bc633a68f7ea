"""The valid golden files: what the library and the plain reader make of them, and that it never moves."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import plain_reader
import pytest
import xxhash
from golden_parts import Parts
from PIL import Image

from halfbyte.codecs.jpeg import assemble_jpeg, restore_jpeg
from halfbyte.records.record import parse_record
from halfbyte.records.record_set import RecordSet, open_records
from halfbyte.storage.local import LocalStore

HERE = Path(__file__).parent
PINS: dict[str, list[dict[str, Any]]] = json.loads((HERE / "pins.json").read_text())
FIDELITIES = [("example", 1), ("example", 2), *(("photos", k) for k in range(1, 11))]


def open_golden(name: str) -> RecordSet:
    return open_records(LocalStore(HERE / "valid" / name))


def joined(codec: int, slices: list[memoryview]) -> bytes:
    return bytes(slices[0]) if codec == 0 else assemble_jpeg(slices)


@pytest.mark.parametrize(("name", "fidelity"), FIDELITIES)
def test_files_have_the_pinned_hashes(name: str, fidelity: int) -> None:
    records = open_golden(name)
    for number, pin in enumerate(PINS[name]):
        sample = records.sample(number, fidelity)
        file = joined(sample.codec, sample.slices)
        assert f"{len(file)} {xxhash.xxh3_64_hexdigest(file)}" == pin["files"][fidelity - 1], pin["key"]
    assert len(records) == len(PINS[name])


@pytest.mark.parametrize("name", PINS)
def test_samples_are_as_pinned(name: str) -> None:
    records = open_golden(name)
    for number, pin in enumerate(PINS[name]):
        sample = records.sample(number)
        about = (sample.key, sample.codec, [sample.width, sample.height], sample.orientation)
        assert about == (pin["key"], pin["codec"], pin["size"], pin["orientation"])
        assert repr(sample.fields) == pin["fields"]


@pytest.mark.parametrize(("name", "fidelity"), FIDELITIES)
def test_the_plain_reader_agrees(name: str, fidelity: int) -> None:
    records = open_golden(name)
    _, plain = plain_reader.read_dataset(HERE / "valid" / name, fidelity)
    assert len(plain) == len(records)
    for number in range(len(records.index)):
        record = records.record(number, fidelity, extras=True)
        for index in range(len(record)):
            twin = plain[int(records.index.starts[number]) + index]
            stored = records.stored(number, index, record.table, record.slices(index))
            assert [bytes(part) for part in stored.slices] == twin.slices
            assert record.extras(index) == (twin.metadata, twin.trailing)
            assert repr(record.fields(index)) == repr(stored.fields) == repr(twin.fields)
            assert (stored.key, stored.codec, stored.width, stored.height, stored.orientation) == (
                twin.key, twin.codec, twin.width, twin.height, twin.orientation)  # fmt: skip
            assert record.table.source_bytes[index] == twin.source_bytes
            assert joined(stored.codec, stored.slices) == twin.file()


@pytest.mark.parametrize("name", PINS)
def test_the_description_is_read_alike(name: str) -> None:
    about, _ = plain_reader.read_dataset(HERE / "valid" / name)
    manifest = open_golden(name).manifest
    assert manifest.dataset_id.hex() == about["id"]
    assert (manifest.num_samples, manifest.num_records) == (about["num_samples"], about["num_records"])
    assert list(manifest.classes or ()) == about["classes"]
    assert [{"name": f.name, "type": f.type} for f in manifest.fields] == about["fields"]
    assert [{"name": level.name, "bytes": level.bytes} for level in manifest.levels] == about["levels"]
    assert manifest.codecs == about["codecs"]


def test_a_record_is_read_without_its_index() -> None:
    path = HERE / "valid" / "photos" / "records" / "00000.pcr"
    record = parse_record(path.read_bytes(), fidelity=10, where="alone", extras=True)
    assert record.table.keys[0].as_py() == PINS["photos"][0]["key"]


@pytest.mark.parametrize("name", PINS)
def test_files_are_restored_alike(name: str) -> None:
    records = open_golden(name)
    _, plain = plain_reader.read_dataset(HERE / "valid" / name)
    for number, twin in enumerate(plain):
        at, index = records.locate(number)
        record = records.record(at, extras=True)
        metadata, trailing = record.extras(index)
        if twin.codec == 1:
            restored = restore_jpeg(record.slices(index), metadata=metadata, trailing=trailing)
            assert restored == twin.restored(), twin.key
            assert (b"Exif" in restored) == (twin.orientation != 1)


@pytest.mark.parametrize(("name", "fidelity"), FIDELITIES)
def test_other_decoders_open_every_fidelity(name: str, fidelity: int) -> None:
    for sample in plain_reader.read_dataset(HERE / "valid" / name, fidelity)[1]:
        if sample.key != "b/note.txt":
            with Image.open(io.BytesIO(sample.file())) as image:
                image.load()
                assert sample.codec == 0 or image.size == (sample.width, sample.height)


@pytest.mark.parametrize("size", [1, 1000])
def test_readers_skip_preambles_and_tails(size: int) -> None:
    data = (HERE / "valid" / "example" / "records" / "00000.pcr").read_bytes()
    parts = Parts.of(data)
    for k in (1, 2):
        parts.bodies[k] = bytes(size * k) + parts.bodies[k]
        parts.entries[k]["preamble"] = size * k
    shifted = parts.lay_out().signed() + b"not of the record"
    before = parse_record(data, fidelity=2, where="x")
    after = parse_record(shifted, fidelity=2, where="y", extras=True)
    for index, twin in enumerate(plain_reader.read_record(shifted, 2, extras=True)[1]):
        assert after.slices(index) == before.slices(index) == twin.slices
        assert after.extras(index) == before.extras(index) == (twin.metadata, twin.trailing)


def test_every_kind_of_sample_is_there() -> None:
    pins = PINS["photos"]
    assert {pin["codec"] for pin in pins} == {0, 1}
    assert {pin["orientation"] for pin in pins} >= {1, 3, 6}
    assert open_golden("photos").index.num_samples.tolist() == [6, 0, 3]
