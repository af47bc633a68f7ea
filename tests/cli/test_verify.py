from __future__ import annotations

import shutil
from pathlib import Path

from command import Run


def damaged_copy(dataset: Path, tmp_path: Path, at: int) -> Path:
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    record = copy / "records" / "00000.pcr"
    data = bytearray(record.read_bytes())
    data[at] ^= 1
    record.write_bytes(data)
    return copy


def test_says_that_all_is_whole(run: Run, dataset: Path) -> None:
    text = run("verify", dataset).stdout
    assert "25 samples in 1 record" in text
    assert "25 images decoded at full fidelity" in text
    assert "whole: every checksum is right" in text


def test_names_the_damage_and_exits_with_1(run: Run, dataset: Path, tmp_path: Path) -> None:
    copy = damaged_copy(dataset, tmp_path, -400)
    text = run("verify", copy, code=1).stdout
    assert "damaged: " in text
    assert "level 10 has checksum" in text
    assert "dog/22.jpg" in text
    assert "24 images decoded" in text


def test_json_lists_findings(run: Run, dataset: Path, tmp_path: Path) -> None:
    copy = damaged_copy(dataset, tmp_path, -400)
    (copy / "records" / "notes.txt").write_text("mine")
    document = run.json("verify", copy, "--no-decode", code=1)
    assert not document["ok"]
    assert [finding["kind"] for finding in document["damage"]] == ["level", "sample"]
    assert document["damage"][1]["key"] == "dog/22.jpg"
    assert document["unexpected"] == [str(copy / "records" / "notes.txt")]


def test_unexpected_files_are_named_but_no_damage(run: Run, dataset: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    (copy / "records" / "notes.txt").write_text("mine")
    assert "not part of the data set: " in run("verify", copy, "--every-fidelity").stdout


def test_contradicting_options_are_a_usage_error(run: Run, dataset: Path) -> None:
    assert "leave --no-decode out" in run("verify", dataset, "--no-decode", "--every-fidelity", code=2).stderr


def test_no_data_set_is_one_line(run: Run, tmp_path: Path) -> None:
    assert "no such file" in run.error("verify", tmp_path)
