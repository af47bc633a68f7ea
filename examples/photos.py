"""Small photographs with labels, for the examples beside this file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import TensorDataset

NAMES = ("astronaut.png", "brick.png", "chelsea.png", "coffee.png", "grass.png", "gravel.png", "rocket.jpg")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def load_photos(folder: Path | None, *, side: int = 64, num_tiles: int = 896) -> tuple[TensorDataset, int]:
    """Random square tiles of photographs, and the number of classes.

    Args:
        folder: of a folder for each class; None for photographs that come with scikit-image, each a class of
            its own.
        side: of a tile, in pixels.
        num_tiles: float32 images (3, side, side), normalized, and as many labels.
    """
    classes = read_classes(folder) if folder else own_classes()
    rng = np.random.default_rng(0)
    tiles = torch.empty(num_tiles, 3, side, side)
    labels = torch.arange(num_tiles) % len(classes)
    for tile, label in zip(tiles, labels.tolist(), strict=True):
        path = classes[label][rng.integers(len(classes[label]))]
        with Image.open(path) as photo:
            tile.copy_(cut(photo.convert("RGB"), side, rng))
    return TensorDataset(tiles, labels), len(classes)


def write_photos(folder: Path, *, side: int = 160, a_class: int = 24) -> Path:
    """A folder of JPEG tiles for each of the photographs that come with scikit-image."""
    rng = np.random.default_rng(0)
    for paths in own_classes():
        with Image.open(paths[0]) as photo:
            pixels = np.asarray(photo.convert("RGB"))
        (folder / paths[0].stem).mkdir(parents=True)
        for number in range(a_class):
            top, left = (int(rng.integers(extent - side + 1)) for extent in pixels.shape[:2])
            tile = Image.fromarray(pixels[top : top + side, left : left + side])
            tile.save(folder / paths[0].stem / f"{number}.jpg", quality=85)
    return folder


def cut(photo: Image.Image, side: int, rng: np.random.Generator) -> torch.Tensor:
    """A random square of at least half the photograph's height or width."""
    shorter = min(photo.size)
    length = int(rng.integers(shorter // 2, shorter + 1))
    left, top = (int(rng.integers(extent - length + 1)) for extent in photo.size)
    box = (left, top, left + length, top + length)
    pixels = (
        np.asarray(photo.resize((side, side), Image.Resampling.BILINEAR, box=box), dtype=np.float32) / 255
    )
    return torch.from_numpy((pixels - np.float32(MEAN)) / np.float32(STD)).permute(2, 0, 1)


def own_classes() -> list[list[Path]]:
    """The files lie in scikit-image's wheel; nothing is downloaded."""
    spec = find_spec("skimage")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install scikit-image, or say where your own photos are: --photos FOLDER")
    return [[Path(spec.origin).parent / "data" / name] for name in NAMES]


def read_classes(folder: Path) -> list[list[Path]]:
    classes = [
        sorted(p for p in sub.iterdir() if p.is_file()) for sub in sorted(folder.iterdir()) if sub.is_dir()
    ]
    if len(classes) < 2:
        raise SystemExit(f"{folder}: expected a folder of images for each of at least 2 classes")
    return classes
