from __future__ import annotations

from pathlib import Path

import pytest

from halfbyte.cli.demo_folder import LabelledFile, MostFiles, choose, read_image_folder
from halfbyte.errors import SourceError


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100)
    return root


def test_given_splits_are_kept(tmp_path: Path) -> None:
    make(tmp_path, "train/cat/1.jpg", "train/dog/2.jpg", "val/cat/3.jpg", "val/cow/4.jpg", "README.md")
    train, test = read_image_folder(tmp_path)
    assert [(file.label, file.size) for file in train] == [("cat", 100), ("dog", 100)]
    assert [file.path for file in test] == [str(tmp_path / "val" / "cat" / "3.jpg")]  # no cow was trained on


def test_a_folder_without_splits_is_split_by_hash(tmp_path: Path) -> None:
    names = [f"{label}/{i}.jpg" for label in ("cat", "dog") for i in range(100)]
    make(tmp_path, *names, "cat/.hidden", "top.jpg")
    train, test = read_image_folder(tmp_path)
    assert len(train) + len(test) == 200
    assert 20 <= len(test) <= 60
    assert not {file.path for file in train} & {file.path for file in test}
    assert read_image_folder(tmp_path) == (train, test)


def test_what_has_no_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere: no such folder; give one that holds a folder"):
        read_image_folder(tmp_path / "nowhere")
    make(tmp_path, "1.jpg", "2.jpg")
    with pytest.raises(SourceError, match=r"images of 0 classes to train on, expected at least 2"):
        read_image_folder(tmp_path)


def test_choice_keeps_within_bounds_and_is_stable() -> None:
    files = [LabelledFile(f"{i}.jpg", "a", 10) for i in range(50)]
    assert len(choose(files, MostFiles(files=20, bytes=10_000))) == 20
    assert len(choose(files, MostFiles(files=50, bytes=95))) == 9
    assert len(choose(files[:1], MostFiles(files=5, bytes=1))) == 1
    assert choose(files, MostFiles(20, 1000)) == choose(files[::-1], MostFiles(20, 1000))
