"""Dying and going on: whatever happens, OUT is a whole data set or none, and the same call finishes it."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from folders import contents, write_photos

from halfbyte.conversion import ConvertReport, Progress, convert, engine
from halfbyte.conversion.lock import hold
from halfbyte.errors import ConvertError, NotADataset, OutputExists
from halfbyte.records.record_set import open_records
from halfbyte.storage.local import LocalStore

CODE = """
import sys
from halfbyte.conversion import convert
convert(sys.argv[1], sys.argv[2], record_bytes=30_000, workers=2)
"""


def convert_small(source: Path, out: Path, **options: object) -> ConvertReport:
    return convert(source, out, **{"record_bytes": 30_000, "workers": 2, **options})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def undisturbed(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What converting the photos gives."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    assert convert_small(photos, out).num_records == 3
    return contents(out)


def assert_no_dataset(out: Path) -> None:
    with pytest.raises(NotADataset, match="there is no complete data set here"):
        open_records(LocalStore(out))


def kill_during_conversion(photos: Path, out: Path, seconds: float) -> None:
    """Convert in a process of its own, and kill it so long after its first sign of life."""
    process = subprocess.Popen([sys.executable, "-c", CODE, str(photos), str(out)])
    while process.poll() is None and not (out / ".convert").exists():
        time.sleep(0.001)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_killed_process_goes_on_to_the_same_bytes(
    photos: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    moments = random.Random(4)
    for attempt in range(4):
        out = tmp_path / str(attempt)
        for _ in range(2):
            kill_during_conversion(photos, out, moments.uniform(0, 0.25))
            if not (out / "dataset.json").exists():
                assert_no_dataset(out)
        convert_small(photos, out)
        assert contents(out) == undisturbed


class StopError(Exception):
    """Stands for a sudden end."""


def stop_at_write(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException) -> Callable[[], None]:
    """Let the write of this number (from 0) fail half way, in every module that writes."""
    from halfbyte.conversion import finish, journal

    real = engine.write_atomically
    count = iter(range(1_000_000))

    def write(path: Path, parts: object) -> None:
        if next(count) == number:
            path.with_name(f"{path.name}.part").write_bytes(b"half")
            raise error
        real(path, parts)  # type: ignore[arg-type]

    for module in (engine, finish, journal):
        monkeypatch.setattr(module, "write_atomically", write)
    return monkeypatch.undo


# Two files begin the journal, three records have an outcome each, and three files make the data set.
@pytest.mark.parametrize("number", range(2 + 3 * 2 + 3))
def test_every_write_may_be_the_last(
    photos: Path,
    tmp_path: Path,
    undisturbed: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
) -> None:
    out = tmp_path / "out"
    undo = stop_at_write(monkeypatch, number, StopError())
    with pytest.raises(StopError):
        convert_small(photos, out)
    undo()
    assert_no_dataset(out)
    convert_small(photos, out)
    assert contents(out) == undisturbed


def test_finished_records_are_not_made_again(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    undo = stop_at_write(monkeypatch, 4, StopError())
    with pytest.raises(StopError):
        convert_small(photos, out)
    undo()
    before = identity(out / "records" / "00000.pcr")
    seen: list[Progress] = []
    report = convert_small(photos, out, progress=seen.append)
    assert identity(out / "records" / "00000.pcr") == before
    assert 0 < report.converted_bytes < report.source_bytes
    assert seen[-1].done_samples == 200


def test_record_that_was_damaged_meanwhile_is_made_again(
    photos: Path, tmp_path: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    undo = stop_at_write(monkeypatch, 6, StopError())
    with pytest.raises(StopError):
        convert_small(photos, out)
    undo()
    os.truncate(out / "records" / "00000.pcr", 1000)
    (out / ".convert" / "00001.json").write_text("{")
    convert_small(photos, out)
    assert contents(out) == undisturbed


def test_interrupt_ends_threads_and_can_be_resumed(
    photos: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    out = tmp_path / "out"

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_small(photos, out, progress=interrupt)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("halfbyte-")]
    assert_no_dataset(out)
    assert not list(out.rglob("*.part"))
    convert_small(photos, out)
    assert contents(out) == undisturbed


def test_ctrl_c_in_a_process_ends_it_at_once(
    photos: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(photos), str(out)], stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and not (out / "records").exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0 or "KeyboardInterrupt" in said  # 0: it had just finished
    if not (out / "dataset.json").exists():
        assert_no_dataset(out)
    convert_small(photos, out)
    assert contents(out) == undisturbed


FAILURES = {
    errno.ENOSPC: r"the disk is full \(No space left on device\); free some space and give the same command",
    errno.EROFS: r"cannot be written to \(Read-only file system.*\); make it a folder that you may write to",
}


@pytest.mark.parametrize("code", FAILURES)
def test_failing_disk_is_explained_and_survived(
    photos: Path,
    tmp_path: Path,
    undisturbed: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    code: int,
) -> None:
    out = tmp_path / "out"
    undo = stop_at_write(monkeypatch, 4, OSError(code, os.strerror(code)))
    with pytest.raises(ConvertError, match=FAILURES[code]):
        convert_small(photos, out)
    undo()
    assert_no_dataset(out)
    convert_small(photos, out)
    assert contents(out) == undisturbed


def identity(path: Path) -> tuple[int, int, int]:
    """What changes when a file is written again; reading it changes only its time of access."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def test_complete_data_set_is_left_alone(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = convert_small(photos, out)
    before = {path: identity(path) for path in [out, *out.rglob("*")]}
    again = convert_small(photos, out)
    assert again.already_complete
    assert not first.already_complete
    assert again.converted_bytes == 0
    ran = ("already_complete", "seconds", "mb_per_s")
    old, new = ({k: v for k, v in r.to_json().items() if k not in ran} for r in (first, again))
    assert old == new
    assert {path: identity(path) for path in [out, *out.rglob("*")]} == before


def test_journal_left_beside_a_complete_data_set_is_removed(
    photos: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    convert_small(photos, out)
    (out / ".convert").mkdir()
    (out / ".convert" / "00001.json").write_text("{}")
    assert convert_small(photos, out).already_complete
    assert contents(out) == undisturbed
    assert not (out / ".convert").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1}, r"other sources or settings \(seed was 0, is 1\); choose another folder"),
        ({"script": "fine"}, r"script was 'standard \(\w+\)', is 'fine \(\w+\)'"),
        ({"quality": False}, r"quality was True, is False"),
    ],
)
def test_complete_data_set_of_other_settings_is_kept(
    photos: Path, tmp_path: Path, undisturbed: dict[str, bytes], options: dict[str, object], message: str
) -> None:
    out = tmp_path / "out"
    convert_small(photos, out)
    with pytest.raises(OutputExists, match=message):
        convert_small(photos, out, **options)
    assert contents(out) == undisturbed


def test_complete_data_set_of_other_sources_is_kept(tmp_path: Path) -> None:
    source, out = write_photos(tmp_path / "in", ["a.jpg", "b.jpg"]), tmp_path / "out"
    convert_small(source, out)
    before = contents(out)
    os.utime(source / "b.jpg", ns=(0, time.time_ns() + 10**9))
    with pytest.raises(OutputExists, match=r"older than 1 of its sources \(such as b\.jpg\); choose another"):
        convert_small(source, out)
    (source / "b.jpg").unlink()
    with pytest.raises(OutputExists, match=r"it has 2 samples, the source 1 files"):
        convert_small(source, out)
    assert contents(out) == before


def interrupted(source: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undo = stop_at_write(monkeypatch, 3, StopError())
    with pytest.raises(StopError):
        convert_small(source, out)
    undo()


def test_settings_changed_since_the_interruption_are_named(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(photos, tmp_path / "out", monkeypatch)
    message = r"unfinished conversion of something else: keep_order was False, is True; undo the change"
    with pytest.raises(ConvertError, match=message):
        convert_small(photos, tmp_path / "out", keep_order=True)


def test_sources_changed_since_the_interruption_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_photos(tmp_path / "in", [f"{i:02d}.jpg" for i in range(70)])
    interrupted(source, tmp_path / "out", monkeypatch)
    os.utime(source / "03.jpg", (1, 1))
    (source / "04.jpg").unlink()
    (source / "05.jpg").rename(source / "new.jpg")
    message = r"2 gone \(such as 04\.jpg\); 1 new \(such as new\.jpg\); 1 changed \(such as 03\.jpg\)"
    with pytest.raises(ConvertError, match=message):
        convert_small(source, tmp_path / "out")


def test_journal_of_another_release_is_named(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(photos, tmp_path / "out", monkeypatch)
    plan = tmp_path / "out" / ".convert" / "plan.json"
    body = json.loads(plan.read_text())
    body["settings"]["halfbyte"] = "0.0.1"
    plan.write_text(json.dumps(body))
    with pytest.raises(ConvertError, match=r"halfbyte was '0\.0\.1', is "):
        convert_small(photos, tmp_path / "out")


def test_damaged_journal_is_explained(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(photos, tmp_path / "out", monkeypatch)
    (tmp_path / "out" / ".convert" / "plan.json").write_text("{")
    with pytest.raises(ConvertError, match=r"journal .* cannot be read .*; delete .*out to start again"):
        convert_small(photos, tmp_path / "out")


def test_two_conversions_of_one_folder_are_refused(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with (
        hold(out / ".convert" / "lock"),
        pytest.raises(ConvertError, match=r"out: another conversion is writing here .*; wait until it ends"),
    ):
        convert_small(photos, out)
    assert convert_small(photos, out).num_samples == 200


def test_folder_with_something_else_is_not_touched(photos: Path, tmp_path: Path) -> None:
    out = write_photos(tmp_path / "out", ["holiday.jpg"])
    before = contents(out)
    with pytest.raises(OutputExists, match=r"other things already \(1, such as holiday\.jpg\); choose a new"):
        convert_small(photos, out)
    assert contents(out) == before
    with pytest.raises(OutputExists, match=r"holiday\.jpg: is no folder; choose the name of a new folder"):
        convert_small(photos, out / "holiday.jpg")


def test_unwritable_out_is_explained(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        ConvertError, match=r"cannot be written to \(Not a directory.*; make it a folder that"
    ):
        convert_small(photos, tmp_path / "file" / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission_is_explained(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(ConvertError, match=r"cannot be written to \(Permission denied"):
        convert_small(photos, tmp_path / "closed" / "out")
