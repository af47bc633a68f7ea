from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command import Run

import halfbyte


@pytest.fixture
def spoilt(source: Path, tmp_path: Path) -> Path:
    """A folder with eight files that are no images."""
    folder = Path(shutil.copytree(source, tmp_path / "spoilt"))
    for number in range(8):
        (folder / "dog" / f"notes{number}.jpg").write_text("no image")
    return folder


def test_says_what_was_done_and_what_comes_next(run: Run, source: Path, tmp_path: Path) -> None:
    text = run("convert", source, tmp_path / "out").stdout
    assert "25 in 1 record" in text
    assert "24 JPEGs, every coefficient as in its source" in text
    assert "1 (1 png)" in text
    assert "Y refine bit 0" in text
    assert f"halfbyte verify {tmp_path / 'out'}" in text
    again = run("convert", source, tmp_path / "out").stdout
    assert "is there already, from the same source and with the same settings" in again


def test_json_holds_the_report(run: Run, source: Path, tmp_path: Path) -> None:
    document = run.json("convert", source, tmp_path / "out", "--no-quality")
    assert (document["num_samples"], document["written_jpeg"], document["exit_ok"]) == (25, 24, True)
    assert document["quality"] is None
    assert document["out"] == str(tmp_path / "out")


def test_options_reach_the_converter(run: Run, source: Path, tmp_path: Path) -> None:
    options = ("--encode-other", 80, "--record-size", "64kB", "--scan-script", "spectral", "--workers", 1)
    more = ("--keep-order", "--drop-trailing", "--seed", 5, "--no-quality")
    document = run.json("convert", source, tmp_path / "out", *options, *more)
    assert document["encoded"] == {"png": 1}
    provenance = halfbyte.open(tmp_path / "out").records.manifest.provenance
    assert provenance["record_bytes"] == 64000
    assert (provenance["keep_order"], provenance["keep_trailing"], provenance["seed"]) == (True, False, 5)
    assert provenance["script"].startswith("spectral")


def test_refused_files_are_named_and_counted(run: Run, spoilt: Path, tmp_path: Path) -> None:
    text = run("convert", spoilt, tmp_path / "out", code=1).stdout
    assert "refused: 8 (8 " in text
    assert "dog/notes0.jpg: " in text
    assert f"… and 3 more: see {tmp_path / 'out' / 'report.json'}" in text


def test_refused_files_can_be_skipped_or_fatal(run: Run, spoilt: Path, tmp_path: Path) -> None:
    run("convert", spoilt, tmp_path / "skipped", "--on-error", "skip", "--no-quality")
    assert "notes" in run.error("convert", spoilt, tmp_path / "failed", "--on-error", "fail")
    assert not (tmp_path / "failed" / "dataset.json").exists()


def test_wrong_source_out_and_script_are_one_line(run: Run, source: Path, tmp_path: Path) -> None:
    assert "nowhere: no such folder or list" in run.error("convert", tmp_path / "nowhere", tmp_path / "out")
    (tmp_path / "mine.txt").write_text("mine")
    assert "mine.txt" in run.error("convert", source, tmp_path)
    assert "no scan script is called 'fast'" in run.error(
        "convert", source, tmp_path / "out", "--scan-script", "fast"
    )


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--record-size", "big", "'big' is no size"),
        ("--record-size", "1TB", "is more than 64GiB"),
        ("--on-error", "panic", "panic"),
        ("--encode-other", "101", "100"),
        ("--seed", "-1", "--seed"),
        ("--seed", str(1 << 64), "below 2**64"),
    ],
)
def test_wrong_options_are_usage_errors(
    run: Run, tmp_path: Path, option: str, value: str, message: str
) -> None:
    assert message in run("convert", tmp_path, tmp_path / "out", option, value, code=2).stderr
    assert not (tmp_path / "out").exists()
