"""The examples are run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from photos import jpeg, photo

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py") if path.name != "photos.py")


def run_example(name: str, *arguments: object) -> str:
    """What an example prints. Offline and on one thread: its model is small."""
    quiet = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    result = subprocess.run(
        [sys.executable, f"examples/{name}", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | quiet,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    ("name", "forwards"), [("hf_trainer.py", 4), ("lightning_callback.py", 2), ("plain_loop.py", 2)]
)
def test_example_trains_and_reports(name: str, forwards: int) -> None:
    text = run_example(name, "--steps", 2)
    assert f"Saved for backward, for one of {forwards} steps" in text
    assert "all activations" in text


def test_a_policy_chooses_and_its_report_is_written(tmp_path: Path) -> None:
    text = run_example("choose_fidelity.py", "--epochs", 3, "--report", tmp_path / "run.html")
    assert "epoch 1, step 0: fidelity 5, since the schedule says so from epoch 1 on" in text
    page = (tmp_path / "run.html").read_text()
    assert page.count("<svg") == 4
    assert "Trained on" in page


def test_maps_between_layers_are_reported() -> None:
    text = run_example("feature_maps.py", "--steps", 4, "--tolerance", 0.02)
    assert "Maps between layers" in text
    assert "with compressed maps" in text


def test_every_example_is_run() -> None:
    assert EXAMPLES == [
        "choose_fidelity.py",
        "feature_maps.py",
        "hf_trainer.py",
        "lightning_callback.py",
        "plain_loop.py",
    ]


def test_own_photos_are_read(tmp_path: Path) -> None:
    for number in range(6):
        path = tmp_path / ("cat" if number % 2 else "dog") / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(jpeg(photo(number, width=120, height=100)))
    assert "step 1: loss" in run_example("plain_loop.py", "--steps", 1, "--photos", tmp_path)
