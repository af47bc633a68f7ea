from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from command import Run

from photos import jpeg, photo

FAST = ("--tiles", 12, "--epochs", 1, "--bandwidth", "100MB")


def test_shows_every_step_and_what_comes_next(run: Run, tmp_path: Path) -> None:
    text = run("demo", *FAST, "--keep", tmp_path / "kept").stdout
    assert "Pictures: 168 training and 84 test tiles of 160x160 pixels from 14 photographs" in text
    assert "168 of 168 images progressive and proven equal" in text
    assert "through a link of 100.0 MB/s" in text
    assert [line.split()[:3] for line in text.splitlines() if " of 10 " in line] == [
        ["1", "of", "10"],
        ["5", "of", "10"],
        ["10", "of", "10"],
    ]
    packed = text.partition("Activations: ")[2]
    for policy in ("none", "jpeg_act()", "sfpr()", "group_quantized(bits=2)"):
        assert len([line for line in packed.splitlines() if line.startswith(f"{policy} ")]) == 1
    assert "  halfbyte demo --data PHOTOS/" in text
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "photos",
        "test.halfbyte",
        "train.halfbyte",
    ]


def test_own_photos_and_json(run: Run, tmp_path: Path) -> None:
    for number in range(90):
        path = tmp_path / "photos" / ("cat" if number % 2 else "dog") / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(photo(number % 2, width=120, height=100)))
    document = run.json("demo", "--data", tmp_path / "photos", "--epochs", 1)
    assert document["num_train"] + document["num_test"] == 90
    first, middle, full = document["trials"]
    assert [trial["fidelity"] for trial in document["trials"]] == [1, 5, 10]
    assert first["bytes_read"] < middle["bytes_read"] < full["bytes_read"]
    assert document["bandwidth_bytes_per_s"] > 0
    plain, *packed = document["activations"]
    assert plain["saved_bytes"] == plain["held_bytes"]
    assert all(trial["held_bytes"] < 0.7 * trial["saved_bytes"] for trial in packed)


def test_missing_packages_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    line = run.error("demo")
    assert "needs torch and skimage and PIL" in line
    assert "pip install 'halfbyte[demo]'" in line


def test_what_cannot_be_done_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert "holds something, expected a new or an empty folder" in run.error("demo", "--keep", tmp_path)
    assert "no such folder" in run.error("demo", "--data", tmp_path / "nowhere")
    assert "is no size" in run("demo", "--bandwidth", "fast", code=2).stderr
