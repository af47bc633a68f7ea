from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command import Run

from photos import write_dataset

FAST = ("--seconds", 1, "--crop", 32, "--batch-size", 8)


def test_shows_every_fidelity_and_what_limits(run: Run, dataset: Path) -> None:
    text = run("bench", dataset, *FAST).stdout
    assert "Reading: " in text
    assert "Decoding: " in text
    rows = [line.split() for line in text.splitlines() if line.strip()[:2].strip().isdigit()]
    assert [row[0] for row in rows] == [str(k) for k in range(1, 11)]
    assert "waiting" not in text  # there is no model that could wait
    assert "limits" in text


def test_a_slow_link_is_the_limit(run: Run, dataset: Path) -> None:
    document = run.json("bench", dataset, *FAST, "--bandwidth", "100kB/s", "--images-per-second", 100_000)
    assert document["bandwidth_bytes_per_s"] < 101_000
    assert document["model_images_per_s"] == pytest.approx(100_000)
    rows = document["fidelities"]
    assert [row["fidelity"] for row in rows] == list(range(1, 11))
    assert {row["limit"] for row in rows} == {"link"}
    for row in rows:
        assert row["link_images_per_s"] * row["bytes_per_image"] == pytest.approx(
            document["bandwidth_bytes_per_s"]
        )
        assert row["expected_images_per_s"] == row["link_images_per_s"]
    assert document["advice"][0].startswith("The link limits full fidelity")


def test_a_slow_model_is_the_limit(run: Run, dataset: Path) -> None:
    document = run.json("bench", dataset, *FAST, "--step-ms", 1600)
    assert document["model_images_per_s"] == pytest.approx(5)
    assert {row["limit"] for row in document["fidelities"]} == {"model"}
    assert document["advice"][0].startswith("The model limits training, at 5 images/s")
    tried = [row for row in document["fidelities"] if row["loader_images_per_s"] is not None]
    assert [row["fidelity"] for row in tried] == [1, 5, 10]
    assert all(row["loader_images_per_s"] <= 5.1 for row in tried)


def test_what_would_take_too_long_is_not_tried(run: Run, dataset: Path) -> None:
    document = run.json("bench", dataset, *FAST, "--bandwidth", "20kB/s")
    assert document["fidelities"][-1]["loader_images_per_s"] is None
    assert any("not tried at fidelity 10" in note and "--seconds" in note for note in document["notes"])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--step-ms", 5, "--images-per-second", 5), "leave one out"),
        (("--step-ms", 0), "give a number above 0"),
        (("--images-per-second", 0), "give a number above 0"),
        (("--images-per-second", "nan"), "give a number above 0"),
        (("--bandwidth", "fast"), "is no size"),
        (("--seconds", 0), "Invalid value"),
    ],
)
def test_impossible_options_are_refused(
    run: Run, dataset: Path, options: tuple[object, ...], what: str
) -> None:
    assert what in " ".join(run("bench", dataset, *options, code=2).stderr.replace("│", " ").split())


def test_nothing_to_measure_is_one_line(run: Run, tmp_path: Path) -> None:
    assert "no such file" in run.error("bench", tmp_path / "nowhere")
    assert "holds no sample" in run.error("bench", write_dataset(tmp_path / "ds", [[]]))


def test_missing_torch_is_named(run: Run, dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install 'halfbyte[torch]'" in run.error("bench", dataset)


def test_ctrl_c_leaves_nothing(dataset: Path, tmp_path: Path) -> None:
    before = sorted(dataset.rglob("*"))
    code = "import sys; from halfbyte.cli.main import main; main(sys.argv[1:])"
    arguments = ["bench", str(dataset), "--bandwidth", "1MB/s", "--seconds", "60"]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # reading is done, decoding has begun
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert (process.returncode, stderr) == (130, b"interrupted\n")
    assert list(tmp_path.iterdir()) == []
    assert sorted(dataset.rglob("*")) == before
