from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path

import pytest
from folders import accounted, contents, frames, picture, write_photos
from PIL import Image

from halfbyte.codecs.jpeg import restore_jpeg
from halfbyte.codecs.scan_script import ScanScript
from halfbyte.conversion import ConvertReport, Progress, api, convert
from halfbyte.errors import ConvertError, MissingDecoder, ScanScriptError, SourceError
from halfbyte.records.record_set import RecordSet, open_records
from halfbyte.storage.local import LocalStore
from photos import jpeg, photo


def opened(out: Path) -> RecordSet:
    return open_records(LocalStore(out))


def convert_small(photos: Path, out: Path, **options: object) -> ConvertReport:
    return convert(photos, out, **{"record_bytes": 80_000, "quality": False, **options})  # type: ignore[arg-type]


def test_folder_becomes_a_data_set_of_several_records(photos: Path, tmp_path: Path) -> None:
    report = convert_small(photos, tmp_path / "out")
    records = opened(tmp_path / "out")
    assert len(records) == report.num_samples == 200
    assert len(records.index) == report.num_records == 3
    assert records.manifest.classes == report.classes == ("ant", "bee", "cat", "dog")
    assert {sample.key for sample in map(records.sample, range(200))} == set(contents(photos))
    for sample in map(records.sample, range(200)):
        assert sample.key.startswith(records.manifest.classes[sample.fields["label"]])


def test_samples_restore_to_their_source(photos: Path, tmp_path: Path) -> None:
    convert_small(photos, tmp_path / "out")
    records = opened(tmp_path / "out")
    for number in (0, 77, 199):
        record, index = records.locate(number)
        whole = records.record(record, extras=True)
        metadata, trailing = whole.extras(index)
        restored = restore_jpeg(whole.slices(index), metadata=metadata, trailing=trailing)
        source = (photos / records.sample(number).key).read_bytes()
        assert Image.open(io.BytesIO(restored)).tobytes() == Image.open(io.BytesIO(source)).tobytes()
        assert whole.table.source_bytes[index] == len(source)


def test_bytes_are_those_of_the_files(photos: Path, tmp_path: Path) -> None:
    report = convert_small(photos, tmp_path / "out")
    records = opened(tmp_path / "out")
    assert report.source_bytes == sum(map(len, contents(photos).values()))
    assert report.dataset_bytes == sum(map(len, contents(tmp_path / "out" / "records").values()))
    for fidelity in range(1, 11):
        read = sum(records.index.row(number).ends[fidelity] for number in range(len(records.index)))
        assert report.bytes_at[fidelity - 1] == read
    assert report.shares[-1] == report.bytes_at[-1] / report.source_bytes


def test_every_file_is_accounted_for(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", [f"cat/{i}.jpg" for i in range(5)])
    extra = {
        "cat/a.png": picture("PNG"),
        "cat/b.jpg": picture("WEBP"),
        "cat/c.jpg": jpeg(photo(9))[:-150],
        "cat/d.jpg": b"no image",
        "cat/e.jpg": b"",
        "cat/.f.jpg": b"hidden",
        "stray.jpg": jpeg(photo(8)),
        "cat/g.jpg": jpeg(photo(7)) + b"more",
    }
    for name, data in extra.items():
        (root / name).write_bytes(data)
    (root / "cat" / "h.jpg").symlink_to("nothing")
    report = convert_small(root, tmp_path / "out")
    assert report.found == accounted(report) == 5 + len(extra) + 1
    assert report.written == 7
    assert report.passthrough == {"damaged": 1, "png": 1, "webp": 1}
    assert report.refused_reasons == {
        "broken symbolic link": 1,
        "not an image": 2,
    }
    assert report.ignored == {"hidden": 1}
    assert report.num_samples == len(opened(tmp_path / "out")) == 10
    assert not report.exit_ok


def test_encode_other_makes_jpegs_when_asked(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["a.jpg"])
    (root / "b.png").write_bytes(picture("PNG", mode="RGBA"))
    (root / "c.gif").write_bytes(frames("GIF", 2))
    report = convert_small(root, tmp_path / "out", encode_other=85)
    assert report.encoded == {"gif, first frame only": 1, "png, transparency dropped": 1}
    assert report.found == accounted(report) == 3
    assert opened(tmp_path / "out").manifest.provenance["pillow"]
    assert opened(tmp_path / "out").manifest.codecs == {"jpeg": 3}


def test_encode_other_without_pillow_says_so(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(
        MissingDecoder, match=r"encode_other \(leave it out .* pip install 'halfbyte\[images\]'"
    ):
        convert_small(photos, tmp_path / "out", encode_other=90)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("on_error", "exit_ok"), [("report", False), ("skip", True)])
def test_refused_file_is_listed(tmp_path: Path, on_error: str, exit_ok: bool) -> None:
    root = write_photos(tmp_path / "in", ["a.jpg"])
    (root / "b.jpg").write_bytes(b"nothing")
    report = convert_small(root, tmp_path / "out", on_error=on_error)
    assert report.exit_ok is exit_ok
    body = json.loads((tmp_path / "out" / "report.json").read_text())
    assert body["refused"] == [
        {"key": "b.jpg", "reason": "not an image: it begins with 6e 6f 74 68 69 6e 67"}
    ]
    assert report.to_json()["exit_ok"] is exit_ok


def test_fail_stops_at_a_refused_file_and_goes_on_later(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", [f"{i}.jpg" for i in range(200)])
    (root / "77.jpg").write_bytes(b"nothing")
    with pytest.raises(ConvertError, match=r"77\.jpg: not an image: .* on_error='report' .* or 'skip'"):
        convert_small(root, tmp_path / "out", on_error="fail")
    assert not (tmp_path / "out" / "dataset.json").exists()
    convert_small(root, tmp_path / "out", on_error="skip")
    convert_small(root, tmp_path / "other", on_error="skip")
    assert contents(tmp_path / "out") == contents(tmp_path / "other")


def test_fail_counts_files_that_were_never_opened(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["a.jpg"])
    (root / "b.jpg").symlink_to("nothing")
    with pytest.raises(ConvertError, match=r"b\.jpg: broken symbolic link .* mend or remove"):
        convert_small(root, tmp_path / "out", on_error="fail")
    assert not (tmp_path / "out").exists()


def test_file_that_vanishes_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_photos(tmp_path / "in", ["a.jpg", "b.jpg"])
    plan = api.make_plan

    def plan_late(*sizes: object, **options: object) -> object:
        (root / "b.jpg").unlink()
        return plan(*sizes, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(api, "make_plan", plan_late)
    report = convert_small(root, tmp_path / "out")
    assert report.refused == (("b.jpg", "vanished: it was there when the source was listed"),)
    assert (report.found, report.written, report.exit_ok) == (2, 1, False)


def test_source_without_an_image_leaves_nothing(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["a.jpg", "b.jpg"], data=b"text")
    with pytest.raises(
        SourceError, match=r"no image among 2 files \(2 not an image; such as a\.jpg: not an im"
    ):
        convert_small(root, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_sources_are_never_touched(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", [f"cat/{i}.jpg" for i in range(3)])
    write_photos(tmp_path / "far", ["x.jpg"])
    (root / "cat" / "link.jpg").symlink_to(tmp_path / "far" / "x.jpg")

    def state() -> dict[str, tuple[int, int, bytes]]:
        paths = [*root.rglob("*"), *(tmp_path / "far").rglob("*")]
        return {
            str(path): (
                path.lstat().st_mtime_ns,
                path.lstat().st_ino,
                path.read_bytes() if path.is_file() else b"",
            )
            for path in paths
        }

    before = state()
    for path in [*root.rglob("*.jpg"), root / "cat", root]:
        path.chmod(stat.S_IREAD | (stat.S_IEXEC if path.is_dir() else 0))
    try:
        assert convert_small(root, tmp_path / "out").written == 4
    finally:
        for path in [root, root / "cat"]:
            path.chmod(0o755)
    assert state() == before


def test_sources_are_opened_for_reading_only(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = []
    real = os.open

    def spy(path: object, how: int, *rest: int, **options: int) -> int:
        if str(path).startswith(str(photos)):
            flags.append(how)
        return real(path, how, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", spy)
    convert_small(photos, tmp_path / "out")
    assert len(flags) == 200
    assert {how & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) for how in flags} == {0}


def test_list_with_fields_and_kept_order(photos: Path, tmp_path: Path) -> None:
    rows = [
        {"path": path, "label": path.parent.name, "rank": i} for i, path in enumerate(photos.rglob("*.jpg"))
    ]
    convert_small(rows, tmp_path / "out", keep_order=True)  # type: ignore[arg-type]
    records = opened(tmp_path / "out")
    assert [records.sample(i).fields["rank"] for i in range(200)] == list(range(200))
    assert {field.name: field.type for field in records.manifest.fields} == {
        "label": "int64",
        "rank": "int64",
    }
    assert records.manifest.classes == ("ant", "bee", "cat", "dog")


def test_splits_become_a_field(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["train/cat/0.jpg", "train/dog/0.jpg", "val/cat/0.jpg"])
    convert_small(root, tmp_path / "out")
    records = opened(tmp_path / "out")
    found = {(s.key, s.fields["label"], s.fields["split"]) for s in map(records.sample, range(3))}
    assert found == {
        ("train/cat/0.jpg", 0, "train"),
        ("train/dog/0.jpg", 1, "train"),
        ("val/cat/0.jpg", 0, "val"),
    }


def test_names_that_are_no_utf8_reach_the_data_set(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", [os.fsdecode(b"caf\xe9/1.jpg")])
    (root / os.fsdecode(b"caf\xe9/\xfe.jpg")).write_bytes(b"text")
    report = convert_small(root, tmp_path / "out")
    assert report.classes == ("caf\\xe9",)
    assert report.refused[0][0] == "caf\\xe9/\\xfe.jpg"
    assert opened(tmp_path / "out").sample(0).key == "caf\\xe9/1.jpg"


def test_progress_ends_at_all(photos: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    report = convert_small(photos, tmp_path / "out", progress=seen.append)
    assert seen[-1] == Progress(report.source_bytes, report.source_bytes, 200, 200)
    assert [p.done_bytes for p in seen] == sorted(p.done_bytes for p in seen)


def test_seed_orders_samples_and_names_the_data_set(photos: Path, tmp_path: Path) -> None:
    keys, names = [], []
    for seed in (0, 1):
        convert_small(photos, tmp_path / str(seed), seed=seed)
        records = opened(tmp_path / str(seed))
        keys.append([records.sample(i).key for i in range(200)])
        names.append(records.manifest.dataset_id)
    assert sorted(keys[0]) == sorted(keys[1])
    assert keys[0] != keys[1] != sorted(keys[1])
    assert names[0] != names[1]


def test_threads_do_not_change_a_byte(photos: Path, tmp_path: Path) -> None:
    convert_small(photos, tmp_path / "one", workers=1, quality=True)
    convert_small(photos, tmp_path / "many", workers=5, quality=True)
    assert contents(tmp_path / "one") == contents(tmp_path / "many")


def test_place_and_times_of_sources_do_not_change_a_byte(tmp_path: Path) -> None:
    names = [f"cat/{i}.jpg" for i in range(3)]
    first = write_photos(tmp_path / "a" / "in", names)
    second = write_photos(tmp_path / "b" / "elsewhere", names)
    os.utime(second / "cat" / "0.jpg", (1, 1))
    convert_small(first, tmp_path / "one")
    convert_small(second, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_script_may_be_a_file(photos: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(ScanScript.preset("spectral").text)
    convert_small(photos, tmp_path / "out", script=path)
    assert opened(tmp_path / "out").manifest.scan_script["name"] == "mine"
    path.write_text("0: what")
    with pytest.raises(ScanScriptError, match=r"mine\.txt: line 1, column 1: expected a scan"):
        convert_small(photos, tmp_path / "other", script=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record_bytes": 0}, "record_bytes is 0, expected a whole number from 1 to"),
        ({"seed": -1}, "seed is -1, expected a whole number from 0 to"),
        ({"workers": 0}, "workers is 0, expected a whole number from 1 to 1024"),
        ({"encode_other": 101}, "encode_other is 101, expected a whole number from 1 to 100"),
        ({"on_error": "ignore"}, "on_error is 'ignore', expected one of"),
        ({"script": "nope"}, "no scan script is called 'nope'"),
    ],
)
def test_options_out_of_range_are_named(
    photos: Path, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        convert_small(photos, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_jpeg_stored_as_it_came_is_listed_with_its_reason(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["a.jpg", "cut.jpg"])
    (root / "cut.jpg").write_bytes((root / "cut.jpg").read_bytes()[:-40])
    report = convert_small(root, tmp_path / "out")
    ((key, reason),) = report.stored_jpegs
    assert key == "cut.jpg"
    assert reason.startswith("damaged: the file ends early: ")
    assert report.passthrough == {"damaged": 1}
    assert convert_small(root, tmp_path / "out").stored_jpegs == report.stored_jpegs
