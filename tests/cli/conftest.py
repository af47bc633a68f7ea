"""A small image folder, and the data set made of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Run

import halfbyte
from photos import jpeg, photo


@pytest.fixture
def run() -> Run:
    return Run()


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve JPEGs in each of two classes, and a PNG."""
    root = tmp_path_factory.mktemp("cli") / "photos"
    for number in range(24):
        folder = root / ("cat" if number % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:02}.jpg").write_bytes(jpeg(photo(number, width=96, height=64)))
    photo(24).save(root / "dog" / "24.png")
    return root


@pytest.fixture(scope="session")
def dataset(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data set of it, in the order of names. Read-only."""
    out = tmp_path_factory.mktemp("cli") / "ds"
    halfbyte.convert(source, out, keep_order=True)
    return out
