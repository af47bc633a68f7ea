"""Extraction gives the files back, and writes nowhere else."""

from __future__ import annotations

import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

import halfbyte
from halfbyte.errors import CorruptRecord, FidelityError, NotADataset, OutputExists
from halfbyte.format.index import record_name
from halfbyte.records.extract import extract
from halfbyte.records.progress import Progress
from halfbyte.records.record_set import open_records
from halfbyte.storage.local import LocalStore
from photos import NUM_LEVELS, jpeg, photo, sample, write_dataset

ICC = b"not really a profile, but kept to the byte" * 3


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JPEGs with every kind of metadata, a grey one, one with bytes after its end, and a PNG."""
    root = tmp_path_factory.mktemp("source") / "photos"
    for name in ("cat", "dog"):
        (root / name).mkdir(parents=True)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "maker"
    photo(1).save(root / "cat" / "full.jpg", exif=exif, icc_profile=ICC, comment="a comment", quality=90)
    photo(2).save(root / "cat" / "plain.jpg", quality=80)
    photo(3, channels=1).save(root / "dog" / "grey.jpg", quality=90)
    (root / "dog" / "after.jpg").write_bytes(jpeg(photo(4)) + b"after the end")
    photo(5).save(root / "dog" / "other.png")
    return root


@pytest.fixture(scope="module")
def dataset(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "ds"
    halfbyte.convert(source, out, quality=False)
    return out


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(ImageOps.exif_transpose(image))


def test_full_fidelity_gives_files_and_pixels_back(source: Path, dataset: Path, tmp_path: Path) -> None:
    report = extract(dataset, tmp_path / "out")
    assert (report.num_files, report.fidelity, report.metadata, report.failed) == (5, NUM_LEVELS, False, ())
    assert names(tmp_path / "out") == names(source)
    for name in names(source):
        assert np.array_equal(pixels(tmp_path / "out" / name), pixels(source / name)), name
    assert report.bytes_written == sum((tmp_path / "out" / name).stat().st_size for name in names(source))


def test_original_gives_metadata_back(source: Path, dataset: Path, tmp_path: Path) -> None:
    extract(dataset, tmp_path / "out", original=True)
    for name in names(source):
        with Image.open(source / name) as want, Image.open(tmp_path / "out" / name) as got:
            assert got.getexif() == want.getexif(), name
            for key in ("icc_profile", "comment", "dpi"):
                assert got.info.get(key) == want.info.get(key), name
        assert np.array_equal(pixels(tmp_path / "out" / name), pixels(source / name)), name
    assert (tmp_path / "out" / "dog" / "after.jpg").read_bytes().endswith(b"after the end")


def test_lower_fidelity_is_smaller_and_opens(source: Path, dataset: Path, tmp_path: Path) -> None:
    extract(dataset, tmp_path / "out", fidelity=2)
    for name in ("cat/full.jpg", "dog/grey.jpg"):
        assert (tmp_path / "out" / name).stat().st_size < (source / name).stat().st_size
        assert pixels(tmp_path / "out" / name).shape == pixels(source / name).shape


def test_other_files_come_as_they_were(source: Path, dataset: Path, tmp_path: Path) -> None:
    extract(dataset, tmp_path / "out", fidelity=1)
    name = "dog/other.png"
    assert (tmp_path / "out" / name).read_bytes() == (source / name).read_bytes()


def test_fields_go_to_a_list_that_converts_again(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(jpeg(photo(1)))
    (tmp_path / "b.jpg").write_bytes(jpeg(photo(2)))
    rows = [
        {"path": tmp_path / "a.jpg", "label": "cat", "caption": "één"},
        {"path": tmp_path / "b.jpg", "label": None, "caption": None},
    ]
    halfbyte.convert(rows, tmp_path / "ds", quality=False, keep_order=True)
    assert extract(tmp_path / "ds", tmp_path / "out").metadata
    text = (tmp_path / "out" / "metadata.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in text.splitlines()] == [
        {"file_name": "a.jpg", "label": "cat", "caption": "één"},
        {"file_name": "b.jpg", "label": None, "caption": None},
    ]
    again = halfbyte.convert(tmp_path / "out" / "metadata.jsonl", tmp_path / "again", quality=False)
    assert (again.num_samples, again.classes) == (2, ("cat",))


@pytest.mark.parametrize(
    "key", ["/etc/passwd", "../up.jpg", "a/../../up.jpg", "a//b.jpg", "", ".", "a/\0.jpg"]
)
def test_unsafe_keys_are_refused_before_anything_is_written(key: str, tmp_path: Path) -> None:
    path = write_dataset(tmp_path / "ds", [[sample(0)], [replace(sample(1), key=key)]])
    with pytest.raises(CorruptRecord, match=r"00001\.pcr: a sample is named .* expected a relative path"):
        extract(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_taken_names_get_a_number(tmp_path: Path) -> None:
    keys = ["a.jpg", "a.jpg", "a.jpg/b.jpg", "metadata.jsonl", ".halfbyte-part"]
    samples = [replace(sample(i), key=key) for i, key in enumerate(keys)]
    report = extract(write_dataset(tmp_path / "ds", [samples]), tmp_path / "out")
    assert report.renamed == (
        ("a.jpg", "a~2.jpg"),
        ("a.jpg/b.jpg", "a~3.jpg/b.jpg"),
        ("metadata.jsonl", "metadata~2.jsonl"),
        (".halfbyte-part", ".halfbyte-part~2"),
    )
    assert report.num_files == 5
    assert len(names(tmp_path / "out")) == 6  # and metadata.jsonl


def test_name_too_long_is_left_out_and_listed(tmp_path: Path) -> None:
    long = "x" * 300 + ".jpg"
    path = write_dataset(tmp_path / "ds", [[sample(0), replace(sample(1), key=long)]])
    report = extract(path, tmp_path / "out")
    assert report.num_files == 1
    assert report.failed == ((long, "the name is too long for this file system; extract to another one"),)


def test_folder_with_content_is_refused(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputExists, match=r"holds 1 entries \(such as 'mine\.txt'\), expected an empty"):
        extract(dataset, tmp_path)
    with pytest.raises(OutputExists, match=r"mine\.txt: is a file, expected a folder"):
        extract(dataset, tmp_path / "mine.txt")
    assert names(tmp_path) == ["mine.txt"]


def test_killed_extraction_is_recognized(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / ".halfbyte-unfinished").touch()
    with pytest.raises(OutputExists, match=r"killed before its end; delete the folder and run again"):
        extract(dataset, tmp_path)


def interrupt(progress: Progress) -> None:
    raise KeyboardInterrupt


def test_interrupted_extraction_leaves_nothing(dataset_path: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        extract(dataset_path, tmp_path / "new", progress=interrupt)
    assert not (tmp_path / "new").exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(KeyboardInterrupt):
        extract(dataset_path, tmp_path / "empty", progress=interrupt)
    assert names(tmp_path) == []
    assert (tmp_path / "empty").is_dir()


def test_damaged_sample_is_left_out_and_named(dataset_path: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(dataset_path, tmp_path / "copy"))
    record = open_records(LocalStore(copy)).record(4)
    start, _ = record.slice_ranges(7)[5].tolist()
    data = bytearray((copy / record_name(4)).read_bytes())
    data[start] ^= 1
    (copy / record_name(4)).write_bytes(data)
    (copy / record_name(1)).unlink()
    report = extract(copy, tmp_path / "out")
    assert report.num_files == 80 - 9 - 1
    (missing, why), (key, message) = report.failed
    assert (missing, key) == (record_name(1), "photos/0040.jpg")
    assert re.search(r"00001\.pcr: missing", why)
    assert re.search(r"sample 7 \(photos/0040\.jpg\): level 6 has checksum", message)
    assert extract(copy, tmp_path / "low", fidelity=5).num_files == 80 - 9


def test_damaged_extras_concern_originals_alone(dataset: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    data = bytearray((copy / record_name(0)).read_bytes())
    data[-1] ^= 1
    (copy / record_name(0)).write_bytes(data)
    assert extract(copy, tmp_path / "out").failed == ()
    report = extract(copy, tmp_path / "original", original=True)
    assert "extras has checksum" in dict(report.failed)["cat/full.jpg"]
    assert (tmp_path / "original" / "dog" / "other.png").exists()


def test_original_needs_full_fidelity(dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(
        FidelityError, match=r"original files at fidelity 3 of 10: .*; leave the fidelity out"
    ):
        extract(dataset, tmp_path / "out", fidelity=3, original=True)
    with pytest.raises(FidelityError, match=r"fidelity 11 of a data set with levels 1 to 10"):
        extract(dataset, tmp_path / "out", fidelity=11)
    with pytest.raises(NotADataset, match=r"no complete data set"):
        extract(tmp_path, tmp_path / "out")


def test_progress_reaches_the_end(dataset_path: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    extract(dataset_path, tmp_path / "out", fidelity=1, progress=seen.append)
    assert seen[-1].done_bytes == seen[-1].total_bytes > 0
    assert seen[-1].done_samples == seen[-1].total_samples == 80


def test_files_hold_what_read_gives(dataset: Path, tmp_path: Path) -> None:
    extract(dataset, tmp_path / "out", fidelity=5)
    ds = halfbyte.open(dataset)
    for number in range(len(ds)):
        key = ds.records.sample(number).key
        assert (tmp_path / "out" / key).read_bytes() == ds.read(number, fidelity=5)
        Image.open(io.BytesIO(ds.read(number, fidelity=5))).load()
