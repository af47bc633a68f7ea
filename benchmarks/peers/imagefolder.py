# /// script
# dependencies = ["torch", "pillow", "simplejpeg", "numpy"]
# ///
"""An image folder and torch's DataLoader; decoded by Pillow or by simplejpeg.

What torchvision's ImageFolder does, written out, as torchvision needs exactly its own build of torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import simplejpeg
from numpy.typing import NDArray
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from peers.fetch import fetch
from peers.photos import Photo, find_photos
from peers.task import Task
from peers.view import pillow_view, view

LINK = "a request a photo, in the workers' read function; names are listed from a local copy"


def simplejpeg_view(data: bytes) -> NDArray[np.uint8]:
    return view(Image.fromarray(simplejpeg.decode_jpeg(data)))


ARMS: dict[str, dict[str, Any]] = {
    "ImageFolder, Pillow": {"decode": pillow_view},
    "ImageFolder, simplejpeg": {"decode": simplejpeg_view},
}


def prepare(photos: Path, out: Path) -> None:
    """Nothing to convert: files are linked, as they are."""
    for path in sorted(photos.glob("*/*")):
        target = out / path.relative_to(photos)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.hardlink_to(path)


def epoch(task: Task, decode: Callable[[bytes], NDArray[np.uint8]]) -> Iterator[Any]:
    dataset = ImageFolder(task, find_photos(task.folder), decode)
    for images, _ in DataLoader(dataset, task.batch, shuffle=True, num_workers=task.workers):
        yield images


@dataclass
class ImageFolder(Dataset[Any]):
    task: Task
    photos: list[Photo]
    decode: Callable[[bytes], NDArray[np.uint8]]

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, index: int) -> tuple[NDArray[np.uint8], int]:
        photo = self.photos[index]
        if self.task.url is None:
            data = photo.read()
        else:
            data = fetch(f"{self.task.url}/{photo.path.relative_to(self.task.folder)}")
        return self.decode(data), photo.label
