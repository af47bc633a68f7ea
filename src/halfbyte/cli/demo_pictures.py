"""What the demo trains and tests on: tiles of photographs, or someone's own folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from halfbyte.cli.demo_folder import LabelledFile, MostFiles, choose, read_image_folder
from halfbyte.cli.demo_photos import TileOptions, find_photos, write_tiles

__all__ = ["Pictures", "cut_tiles", "own_photos"]

_TRAIN_FILES = MostFiles(files=2000, bytes=100_000_000)
_TEST_FILES = MostFiles(files=500, bytes=50_000_000)


@dataclass(frozen=True)
class Pictures:
    """What to train and to test on, as ``halfbyte.convert`` takes it, and a sentence about it."""

    train: Path | list[dict[str, str]]
    test: Path | list[dict[str, str]]
    about: str


def cut_tiles(folder: Path, tiles: int, seed: int) -> Pictures:
    """Tiles of scikit-image's photographs as an image folder in ``folder / "photos"``.

    Args:
        folder: where to write.
        tiles: training tiles of each photograph; half as many test.
        seed: of places and sizes.
    """
    photos = find_photos()
    options = TileOptions(train=tiles, test=tiles // 2)
    write_tiles(photos, folder / "photos", options, seed=seed)
    return Pictures(
        folder / "photos" / "train",
        folder / "photos" / "test",
        f"Pictures: {len(photos) * options.train:,} training and {len(photos) * options.test:,} test tiles "
        f"of {options.side}x{options.side} pixels from {len(photos)} photographs of scikit-image. The class "
        f"of a tile is its photograph; test tiles come from regions that no training tile touches.",
    )


def own_photos(data: Path) -> Pictures:
    """A folder of class folders, with a split or without; no more of it than a short demo takes."""
    all_train, all_test = read_image_folder(data)
    train, test = choose(all_train, _TRAIN_FILES), choose(all_test, _TEST_FILES)
    chosen = "all" if len(train) == len(all_train) else f"chosen by hash from {len(all_train):,}"
    return Pictures(
        _rows(train),
        _rows(test),
        f"Pictures: {len(train):,} training images of {data} ({chosen}) and {len(test):,} test images, "
        f"in {len({file.label for file in train})} classes.",
    )


def _rows(files: list[LabelledFile]) -> list[dict[str, str]]:
    return [{"path": file.path, "label": file.label} for file in files]
