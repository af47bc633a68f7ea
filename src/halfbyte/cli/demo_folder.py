"""The demo on someone's own photos: which of them train, which test."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import xxhash

from halfbyte.errors import SourceError

__all__ = ["LabelledFile", "MostFiles", "choose", "read_image_folder"]

_TRAIN_NAMES = ("train", "training")
_TEST_NAMES = ("val", "test", "valid", "validation", "testing")
# Of a folder without splits, one file in five tests.
_TEST_SHARE = 5


@dataclass(frozen=True, slots=True)
class LabelledFile:
    """An image file, its class (the folder that it is in), and its size in bytes."""

    path: str
    label: str
    size: int


@dataclass(frozen=True, slots=True)
class MostFiles:
    """How much of a folder a short demo takes."""

    files: int
    bytes: int


def read_image_folder(folder: Path) -> tuple[list[LabelledFile], list[LabelledFile]]:
    """Files to train and to test on: folders ``train`` and ``val`` (or ``test``), else a fifth of all.

    Raises:
        SourceError: there is no such folder, or it has no class folders.
    """
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder; give one that holds a folder of images for each class")
    train_folder, test_folder = _split(folder, _TRAIN_NAMES), _split(folder, _TEST_NAMES)
    if train_folder and test_folder:
        train, test = _read_classes(train_folder), _read_classes(test_folder)
    else:
        train, test = [], []
        for file in _read_classes(folder):
            relative = os.path.relpath(file.path, folder)
            (test if _hash(relative) % _TEST_SHARE == 0 else train).append(file)
    classes = {file.label for file in train}
    if len(classes) < 2:
        raise SourceError(
            f"{folder}: images of {len(classes)} classes to train on, expected at least 2; give a folder "
            f"that holds one of images for each class, such as {folder}/cat/1.jpg and {folder}/dog/2.jpg"
        )
    return train, [file for file in test if file.label in classes]


def choose(files: Sequence[LabelledFile], most: MostFiles) -> list[LabelledFile]:
    """A sample of the files within bounds, the same each time: those with the lowest hash of their path."""
    chosen: list[LabelledFile] = []
    total = 0
    for file in sorted(files, key=lambda file: _hash(file.path)):
        total += file.size
        if len(chosen) == most.files or (chosen and total > most.bytes):
            break
        chosen.append(file)
    return chosen


def _split(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_dir()), None)


def _read_classes(root: Path) -> list[LabelledFile]:
    files = []
    for folder, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        label = os.path.relpath(folder, root)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if label != "." and not name.startswith(".") and os.path.isfile(path):
                files.append(LabelledFile(path, label, os.path.getsize(path)))
    return files


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(os.fsencode(text))
