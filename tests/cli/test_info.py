from __future__ import annotations

from pathlib import Path

import pytest
from command import Run

from halfbyte.format.manifest import MANIFEST_NAME


def test_shows_what_a_data_set_is(run: Run, dataset: Path) -> None:
    text = run("info", dataset).stdout
    assert "25 in 1 record" in text
    assert "2: cat, dog" in text
    assert "label (int64)" in text
    assert "jpeg 24, raw 1" in text
    assert "standard" in text
    assert text.count("1.0000") == 2  # mean and p10 at full fidelity


def test_json_has_every_fidelity(run: Run, dataset: Path) -> None:
    document = run.json("info", dataset)
    assert (document["num_samples"], document["classes"]) == (25, ["cat", "dog"])
    assert document["fields"] == {"label": "int64"}
    fidelities = document["fidelities"]
    assert [entry["fidelity"] for entry in fidelities] == list(range(1, 11))
    assert fidelities[4]["bytes"] - fidelities[3]["bytes"] == fidelities[4]["level_bytes"]
    assert fidelities[-1]["ms_ssim"] == 1
    assert 0 < fidelities[0]["share"] < fidelities[-1]["share"]


def test_no_data_set_is_one_line(run: Run, tmp_path: Path) -> None:
    assert f"{tmp_path / MANIFEST_NAME}: no such file" in run.error("info", tmp_path)
    assert "no such file" in run.error("info", tmp_path / "nowhere", "--json")


def test_damaged_description_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / MANIFEST_NAME).write_text("{}")
    assert "dataset.json: 2 bytes that do not end with their checksum" in run.error("info", tmp_path)


def test_missing_measures_are_dashes(run: Run, dataset_path: Path) -> None:
    text = run("info", dataset_path).stdout
    assert "none" in text
    assert " - " in text


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_the_terminal(
    run: Run, dataset: Path, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halfbyte.cli.screen._PIPED_WIDTH", columns)
    lines = run("info", dataset).stdout.splitlines()
    assert max(map(len, lines)) <= columns
    assert all(line == line.rstrip() for line in lines)
