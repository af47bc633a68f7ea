"""Verification names what is damaged, and goes on."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import halfbyte
from halfbyte.errors import NotADataset
from halfbyte.format.index import record_name
from halfbyte.records.progress import Progress
from halfbyte.records.record_set import open_records
from halfbyte.records.verify import VerifyReport, verify
from halfbyte.storage.local import LocalStore
from photos import NUM_LEVELS, jpeg, photo, sample, write_dataset


@pytest.fixture
def copy(dataset_path: Path, tmp_path: Path) -> Path:
    """A data set to be damaged: records of 23, 9, 1, 0, 30 and 17 samples."""
    return Path(shutil.copytree(dataset_path, tmp_path / "copy"))


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def inside_slice(path: Path, record: int, index: int, level: int) -> int:
    """A byte of one sample's slice, from the start of the record."""
    whole = open_records(LocalStore(path)).record(record)
    start, stop = whole.slice_ranges(index)[level - 1].tolist()
    return int(start + stop) // 2


def kinds(report: VerifyReport) -> list[str]:
    return [finding.kind for finding in report.damage]


def test_whole_data_set_is_ok(dataset_path: Path) -> None:
    report = verify(dataset_path)
    assert report.ok
    assert (report.num_records, report.num_samples, report.num_decoded) == (6, 80, 80)
    assert report.bytes_read == sum(p.stat().st_size for p in (dataset_path / "records").iterdir())
    assert report.damage == report.undecoded == report.unexpected == ()


def test_every_fidelity_decodes(dataset_path: Path) -> None:
    report = verify(dataset_path, every_fidelity=True)
    assert report.ok
    assert report.num_decoded == 80


def test_damaged_slice_names_level_and_sample(copy: Path) -> None:
    flip(copy / record_name(4), inside_slice(copy, 4, 7, 3))
    report = verify(copy, every_fidelity=True)
    level, of_sample = report.damage
    assert (level.kind, level.record, level.level) == ("level", 4, 3)
    assert re.search(r"00004\.pcr: level 3 has checksum \w+ but the header says", level.message)
    assert (of_sample.kind, of_sample.record, of_sample.level) == ("sample", 4, 3)
    assert (of_sample.sample, of_sample.key) == (40, "photos/0040.jpg")
    assert re.search(r"sample 7 \(photos/0040\.jpg\): .* level 3 .* read at fidelity 2", of_sample.message)
    assert report.num_decoded == 79


def test_damaged_table_leaves_other_records_checked(copy: Path) -> None:
    header = open_records(LocalStore(copy)).table(0)[0]
    flip(copy / record_name(0), header.table.offset + 9)
    flip(copy / record_name(5), 40)
    report = verify(copy)
    assert [(f.kind, f.record) for f in report.damage] == [("record", 0), ("record", 5)]
    assert "sample table has checksum" in report.damage[0].message
    assert report.num_decoded == 80 - 23 - 17
    assert report.num_samples == 80


def test_missing_and_unexpected_records_are_named(copy: Path) -> None:
    (copy / record_name(1)).rename(copy / "records" / "00042.pcr")
    report = verify(copy)
    assert [(f.kind, f.record) for f in report.damage] == [("record", 1)]
    assert re.search(r"00001\.pcr: missing, .*; copy it again", report.damage[0].message)
    assert report.unexpected == (str(copy / "records" / "00042.pcr"),)


def test_extra_file_alone_is_no_damage(copy: Path) -> None:
    (copy / "records" / "00006.pcr.part").write_bytes(b"left behind")
    report = verify(copy)
    assert report.ok
    assert len(report.unexpected) == 1


def test_cut_record_names_each_sample_once(copy: Path) -> None:
    path = copy / record_name(1)
    section = open_records(LocalStore(copy)).table(1)[0].level(5)
    path.write_bytes(path.read_bytes()[: section.offset])
    report = verify(copy)
    assert kinds(report).count("sample") == 9
    assert {f.level for f in report.damage if f.kind == "sample"} == {5}
    assert kinds(report).count("level") == NUM_LEVELS - 4
    assert report.num_decoded == 71


def test_appended_bytes_are_found(copy: Path) -> None:
    path = copy / record_name(2)
    path.write_bytes(path.read_bytes() + b"more")
    report = verify(copy)
    assert kinds(report) == ["record"]
    assert "something was appended to the file" in report.damage[0].message


@pytest.mark.parametrize(("name", "kind"), [("dataset.json", "manifest"), ("index.arrow", "index")])
def test_damaged_description_still_has_records_judged(copy: Path, name: str, kind: str) -> None:
    flip(copy / name, 100)
    flip(copy / record_name(4), inside_slice_of_copy(copy))
    report = verify(copy)
    assert kinds(report) == [kind, "level", "sample"]
    assert report.damage[0].message.startswith(f"{copy / name}: has checksum")
    assert report.damage[2].sample is None
    assert report.num_decoded == 79


def inside_slice_of_copy(path: Path) -> int:
    """A byte of the last level of record 4, found without its description."""
    from halfbyte.format.header import parse_header

    section = parse_header((path / record_name(4)).read_bytes(), where="x").level(NUM_LEVELS)
    return section.offset + section.length // 2


def test_random_flips_are_all_found_and_named(copy: Path) -> None:
    files = [copy / "dataset.json", copy / "index.arrow", *sorted((copy / "records").iterdir())]
    rng = np.random.default_rng(7)
    for turn in range(40):
        path = files[turn % len(files)]
        sound = path.read_bytes()
        flip(path, int(rng.integers(len(sound))))
        report = verify(copy, decode=False)
        assert not report.ok
        assert report.damage[0].message.startswith(f"{path}: ")
        path.write_bytes(sound)


def test_undecodable_sample_with_right_checksums_is_damage(tmp_path: Path) -> None:
    good = sample(0)
    other = (good.slices[0][:-20], *good.slices[1:])
    path = write_dataset(tmp_path / "ds", [[good, replace(good, key="bad.jpg", slices=other)]])
    report = verify(path)
    assert [(f.kind, f.sample, f.key) for f in report.damage] == [("decode", 1, "bad.jpg")]
    assert report.damage[0].message.startswith(f"{path / record_name(0)}: sample 1 (bad.jpg): ")
    assert report.num_decoded == 1
    assert verify(path, decode=False).ok


def test_contradicting_counts_are_named(tmp_path: Path) -> None:
    path = write_dataset(tmp_path / "ds", [[replace(sample(0), codec=0, slices=(jpeg(photo(0)),))]])
    report = verify(path)
    assert kinds(report) == ["count"]
    assert "says codecs {'jpeg': 1}, but its records have {'raw': 1}" in report.damage[0].message


def test_files_stored_as_they_came_are_decoded_too(tmp_path: Path) -> None:
    source = tmp_path / "photos"
    source.mkdir()
    photo(1).save(source / "fine.png")
    (source / "cut.jpg").write_bytes(jpeg(photo(2))[:-300])
    halfbyte.convert(source, tmp_path / "ds", quality=False)
    report = verify(tmp_path / "ds")
    assert [(f.kind, f.key) for f in report.damage] == [("decode", "cut.jpg")]
    assert "stored as it came, and its checksum is right" in report.damage[0].message


def test_missing_decoder_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "photos"
    source.mkdir()
    photo(1).save(source / "fine.png")
    halfbyte.convert(source, tmp_path / "ds", quality=False)
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    report = verify(tmp_path / "ds")
    assert report.ok
    assert [f.key for f in report.undecoded] == ["fine.png"]
    assert "needs Pillow" in report.undecoded[0].message


def test_progress_reaches_the_end(dataset_path: Path) -> None:
    seen: list[Progress] = []
    report = verify(dataset_path, decode=False, progress=seen.append)
    assert len(seen) == 6
    assert seen[-1] == Progress(report.bytes_read, report.bytes_read, 80, 80)


def test_no_data_set_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        NotADataset, match=r"dataset\.json: no such file, .*make one with `halfbyte convert PHOTOS OUT`"
    ):
        verify(tmp_path)


def test_grey_and_turned_images_decode(tmp_path: Path) -> None:
    source = tmp_path / "photos"
    source.mkdir()
    photo(1, channels=1).save(source / "grey.jpg")
    exif = Image.Exif()
    exif[0x0112] = 6
    photo(2).save(source / "turned.jpg", exif=exif)
    halfbyte.convert(source, tmp_path / "ds", quality=False)
    assert verify(tmp_path / "ds", every_fidelity=True).num_decoded == 2
