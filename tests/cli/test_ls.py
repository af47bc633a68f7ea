from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from command import Run

import halfbyte
from halfbyte.cli.main import main


def test_a_line_a_sample_for_pipes(run: Run, dataset: Path) -> None:
    lines = run("ls", dataset, "-f", 1, "-f", 10).stdout.splitlines()
    cells = [line.split("\t") for line in lines]
    assert len(cells) == 25
    number, low, full, codec, size, name, key = cells[0]
    assert (number, codec, size, name, key) == ("0", "jpeg", "96x64", "cat", "cat/01.jpg")
    ds = halfbyte.open(dataset)
    assert int(low) == sum(map(len, ds.records.sample(0, 1).slices))
    assert int(full) == sum(map(len, ds.records.sample(0).slices))
    assert cells[-1][3:] == ["raw", "?", "dog", "dog/24.png"]


def test_start_and_limit_cross_records(run: Run, dataset_path: Path) -> None:
    cells = [
        line.split("\t") for line in run("ls", dataset_path, "--start", 22, "--limit", 12).stdout.splitlines()
    ]
    assert [int(row[0]) for row in cells] == list(range(22, 34))
    assert cells[-1][-2:] == ["33", "photos/0033.jpg"]
    assert run("ls", dataset_path, "--start", 80).stdout == ""
    assert run("ls", dataset_path, "--limit", 0).stdout == ""


def test_json_is_one_document(run: Run, dataset: Path) -> None:
    samples = run.json("ls", dataset, "--limit", 2)["samples"]
    assert [s["key"] for s in samples] == ["cat/01.jpg", "cat/03.jpg"]
    assert (samples[0]["label"], samples[0]["class"], samples[0]["width"]) == (0, "cat", 96)
    assert list(samples[0]["bytes"]) == ["10"]
    assert run.json("ls", dataset, "--limit", 0) == {"samples": []}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_aligned_with_a_header_on_a_terminal(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    with pytest.raises(SystemExit):
        main(["ls", str(dataset), "-f", "5", "-f", "5", "--limit", "3"])
    header, *lines = screen.getvalue().splitlines()
    assert header.split() == ["number", "at", "5", "codec", "size", "class", "name"]
    assert len(lines) == 3
    assert {line.index("cat/") for line in lines} == {header.index("name")}


def test_wrong_fidelity_is_one_line(run: Run, dataset: Path) -> None:
    assert "fidelity 11 of a data set with levels 1 to 10" in run.error("ls", dataset, "-f", 11)
