"""The refused golden files: each is damaged in one way, and each has its error and message."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import plain_reader
import pytest

from halfbyte import errors
from halfbyte.records.record import parse_record
from halfbyte.records.record_set import open_records
from halfbyte.storage.local import LocalStore

HERE = Path(__file__).parent
SAID: dict[str, dict[str, dict[str, Any]]] = json.loads((HERE / "refused" / "refused.json").read_text())
PLAIN = {
    "CorruptRecord": plain_reader.Corrupt,
    "UnsupportedFormat": plain_reader.Unsupported,
    "NeedMoreBytes": plain_reader.NeedMore,
    "NotADataset": FileNotFoundError,
}


def record_bytes(name: str) -> bytes:
    return (HERE / "refused" / "records" / f"{name}.pcr").read_bytes()


@pytest.fixture
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The example with the files of one damaged data set laid over it."""
    folder = tmp_path / request.param
    shutil.copytree(HERE / "valid" / "example", folder)
    changed = HERE / "refused" / "datasets" / request.param
    if changed.exists():
        shutil.copytree(changed, folder, dirs_exist_ok=True)
    for path in SAID["datasets"][request.param]["gone"]:
        (folder / path).unlink()
    return folder


def read_all(folder: Path) -> None:
    records = open_records(LocalStore(folder))
    for number in range(len(records.index)):
        records.record(number, extras=True)
    for number in range(len(records)):
        records.sample(number)


@pytest.mark.parametrize("name", SAID["records"])
def test_damaged_records_are_refused(name: str) -> None:
    said = SAID["records"][name]
    error = getattr(errors, said["error"])
    with pytest.raises(error, match=f"^{name}.pcr: ") as caught:
        parse_record(record_bytes(name), fidelity=2, where=f"{name}.pcr", extras=True)
    caught.match(said["match"])
    assert type(caught.value) is error


@pytest.mark.parametrize("dataset", SAID["datasets"], indirect=True)
def test_damaged_data_sets_are_refused(dataset: Path) -> None:
    said = SAID["datasets"][dataset.name]
    error = getattr(errors, said["error"])
    with pytest.raises(error, match=f"{dataset}/(dataset.json|index.arrow|records/00000.pcr): ") as caught:
        read_all(dataset)
    caught.match(said["match"])
    assert type(caught.value) is error


@pytest.mark.parametrize("name", SAID["records"])
def test_the_plain_reader_refuses_the_same_records(name: str) -> None:
    with pytest.raises(PLAIN[SAID["records"][name]["error"]]):
        plain_reader.read_record(record_bytes(name), 2, extras=True)


@pytest.mark.parametrize("dataset", SAID["datasets"], indirect=True)
def test_the_plain_reader_refuses_the_same_data_sets(dataset: Path) -> None:
    # What is plain JSON is not the plain reader's business: it fails as Python does.
    with pytest.raises((PLAIN[SAID["datasets"][dataset.name]["error"]], ValueError, KeyError)):
        plain_reader.read_dataset(dataset)


def test_every_damaged_file_is_listed() -> None:
    folder = HERE / "refused"
    assert {path.stem for path in folder.glob("records/*")} == set(SAID["records"])
    assert {path.name for path in folder.glob("datasets/*")} <= set(SAID["datasets"])


def test_the_example_itself_is_sound(tmp_path: Path) -> None:
    shutil.copytree(HERE / "valid" / "example", tmp_path / "example")
    read_all(tmp_path / "example")
