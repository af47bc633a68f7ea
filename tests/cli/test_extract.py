from __future__ import annotations

from pathlib import Path

from command import Run


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_gives_the_folder_back(run: Run, dataset: Path, source: Path, tmp_path: Path) -> None:
    text = run("extract", dataset, tmp_path / "out").stdout
    assert f"{tmp_path / 'out'}: 25 files at fidelity 10" in text
    assert names(tmp_path / "out") == names(source)


def test_json_and_options(run: Run, dataset: Path, tmp_path: Path) -> None:
    low = run.json("extract", dataset, tmp_path / "low", "-f", 2)
    original = run.json("extract", dataset, tmp_path / "original", "--original")
    assert (low["ok"], low["num_files"], low["fidelity"]) == (True, 25, 2)
    assert original["original"]
    assert low["bytes_written"] < original["bytes_written"]


def test_damaged_samples_exit_with_1(run: Run, dataset_path: Path, tmp_path: Path) -> None:
    import shutil

    copy = Path(shutil.copytree(dataset_path, tmp_path / "copy"))
    (copy / "records" / "00002.pcr").unlink()
    text = run("extract", copy, tmp_path / "out", code=1).stdout
    assert "damaged: records/00002.pcr: " in text
    assert "left out: 1 damaged sample" in text
    assert (tmp_path / "out" / "metadata.jsonl").exists()


def test_what_cannot_be_done_is_one_line(run: Run, dataset: Path, tmp_path: Path) -> None:
    assert "holds" in run.error("extract", dataset, dataset)
    assert "full fidelity only" in run.error("extract", dataset, tmp_path / "o", "--original", "-f", 1)
    assert not (tmp_path / "o").exists()
