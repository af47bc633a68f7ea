from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from halfbyte.conversion import convert, engine


def test_few_records_are_in_flight_however_slow_the_disk(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_IN_FLIGHT", 1)
    disk, seen = threading.Event(), []
    real_write, real_convert = engine.write_atomically, engine.convert_file

    def write(*arguments: object) -> None:
        assert disk.wait(60)
        real_write(*arguments)  # type: ignore[arg-type]

    def convert_file(*arguments: object) -> object:
        seen.append(arguments)
        return real_convert(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "write_atomically", write)
    monkeypatch.setattr(engine, "convert_file", convert_file)
    thread = threading.Thread(
        target=convert, args=(photos, tmp_path / "out"), kwargs={"record_bytes": 30_000, "quality": False}
    )
    thread.start()
    while len(seen) < 60:
        time.sleep(0.01)
    time.sleep(0.2)  # time enough to go too far
    held = len(seen)
    disk.set()
    thread.join()
    assert held <= 70  # a third of 200
    assert len(seen) == 200


def test_unforeseen_error_reaches_the_caller(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("unforeseen")

    monkeypatch.setattr(engine, "convert_file", fail)
    with pytest.raises(ZeroDivisionError, match="unforeseen"):
        convert(photos, tmp_path / "out")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("halfbyte-")]
