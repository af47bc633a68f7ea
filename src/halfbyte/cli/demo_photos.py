"""Labelled tiles for the demo, cut from photographs that scikit-image's wheel carries."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from halfbyte.errors import HalfbyteError

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

__all__ = ["PHOTOS", "TileOptions", "cut_boxes", "find_photos", "region_grid", "write_tiles"]

# Files in the wheel itself (skimage.data would offer to download others); the class is the name of the file.
PHOTOS = (
    "astronaut.png",
    "brick.png",
    "camera.png",
    "chelsea.png",
    "coffee.png",
    "coins.png",
    "grass.png",
    "gravel.png",
    "hubble_deep_field.jpg",
    "ihc.png",
    "moon.png",
    "motorcycle_left.png",
    "retina.jpg",
    "rocket.jpg",
)
_FEWEST_PHOTOS = 4

Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class TileOptions:
    """How tiles are cut.

    Args:
        train, test: tiles of each photograph for training and for testing.
        side: of a tile, in pixels.
        region: about the side of a region, in pixels of the photograph; each is for training or for testing.
        smallest: side of the smallest square that becomes a tile, as a share of its region.
        quality: of the JPEGs.
    """

    train: int = 96
    test: int = 32
    side: int = 160
    region: int = 170
    smallest: float = 0.5
    quality: int = 90


def find_photos() -> list[Path]:
    """Those of :data:`PHOTOS` that the installed wheel has; nothing is downloaded.

    Raises:
        HalfbyteError: scikit-image is not installed, or without its photographs.
    """
    spec = importlib.util.find_spec("skimage")
    folders = [Path(place) / "data" for place in (spec.submodule_search_locations or [])] if spec else []
    found = [folder / name for folder in folders for name in PHOTOS if (folder / name).is_file()]
    if len(found) < _FEWEST_PHOTOS:
        raise HalfbyteError(
            f"the demo cuts its pictures from the photographs of scikit-image, and finds {len(found)} of "
            f"them; pip install 'halfbyte[demo]', or use your own: halfbyte demo --data FOLDER"
        )
    return found


def region_grid(width: int, height: int, region: int) -> tuple[list[Box], list[Box]]:
    """Disjoint regions of a photograph for training and for testing, spread over it; about one in four tests.

    Returns:
        Boxes (left, top, right, bottom) in pixels; at least one of each kind.
    """
    columns, rows = max(2, round(width / region)), max(2, round(height / region))
    train: list[Box] = []
    test: list[Box] = []
    for row in range(rows):
        for column in range(columns):
            box = (
                column * width // columns,
                row * height // rows,
                (column + 1) * width // columns,
                (row + 1) * height // rows,
            )
            # A diagonal pattern: no row or column of the photograph is all of one kind.
            (test if (column + 2 * row) % 4 == 1 else train).append(box)
    return train, test


def cut_boxes(regions: Sequence[Box], count: int, smallest: float, rng: np.random.Generator) -> list[Box]:
    """Random squares, each within one region, of random size."""
    boxes = []
    for number in range(count):
        left, top, right, bottom = regions[number % len(regions)]
        largest = min(right - left, bottom - top)
        side = round(largest * rng.uniform(smallest, 1.0))
        x = int(rng.integers(left, right - side + 1))
        y = int(rng.integers(top, bottom - side + 1))
        boxes.append((x, y, x + side, y + side))
    return boxes


def write_tiles(photos: Sequence[Path], out: Path, options: TileOptions, *, seed: int) -> None:
    """Write an image folder: ``out/train/<photograph>/000.jpg`` and ``out/test/…``.

    Args:
        photos: image files; each is a class.
        out: folder to make.
        options: see :class:`TileOptions`.
        seed: of places and sizes.
    """
    import numpy as np
    from PIL import Image

    for number, path in enumerate(photos):
        rng = np.random.default_rng([seed, number])
        with Image.open(path) as opened:
            photo = opened.convert("RGB")
        train, test = region_grid(photo.width, photo.height, options.region)
        for split, regions, count in (("train", train, options.train), ("test", test, options.test)):
            folder = out / split / path.stem
            folder.mkdir(parents=True)
            boxes = cut_boxes(regions, count, options.smallest, rng)
            for index, box in enumerate(boxes):
                _tile(photo, box, options.side).save(folder / f"{index:03}.jpg", quality=options.quality)


def _tile(photo: Image, box: Box, side: int) -> Image:
    from PIL import Image

    return photo.resize((side, side), Image.Resampling.LANCZOS, box=box)
