# /// script
# dependencies = ["torch", "ffcv", "pillow", "numpy"]
# ///
"""FFCV: one file of JPEGs, which its writer always encodes again; here about as well as the source was.

Its sources need a C++ compiler, pkg-config and the headers of OpenCV and TurboJPEG to be installed
(Debian: apt-get install g++ pkg-config libopencv-dev libturbojpeg0-dev).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

from peers.fetch import copy
from peers.photos import Photo, find_photos
from peers.task import SIZE, Task

LINK = "a copy of its one file through the link before it begins"
ARMS: dict[str, dict[str, Any]] = {"FFCV, jpg": {}}
_FILE = "photos.beton"


def prepare(photos: Path, out: Path) -> None:
    found = find_photos(photos)
    quality = round(statistics.median(_quality(photo.path) for photo in found[:100]))
    fields = {"image": RGBImageField(write_mode="jpg", jpeg_quality=quality), "label": IntField()}
    DatasetWriter(str(out / _FILE), fields, num_workers=1).from_indexed_dataset(Pixels(found))


def epoch(task: Task) -> Iterator[Any]:
    folder = task.folder if task.url is None else copy(task.folder, task.url, task.scratch)
    for images, _ in _loader(folder / _FILE, task.batch, task.workers):
        yield images


@cache
def _loader(file: Path, batch: int, workers: int) -> Loader:
    """Kept from epoch to epoch, as FFCV means it: it compiles itself when first iterated."""
    crop = RandomResizedCropRGBImageDecoder((SIZE, SIZE))
    return Loader(
        str(file),
        batch_size=batch,
        num_workers=workers,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=False,
        pipelines={
            "image": [crop, RandomHorizontalFlip(), ToTensor(), ToTorchImage()],
            "label": [IntDecoder(), ToTensor()],
        },
    )


@dataclass
class Pixels:
    """What FFCV's writer reads."""

    photos: list[Photo]

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        with Image.open(self.photos[index].path) as image:
            return np.asarray(image.convert("RGB")), self.photos[index].label


def _quality(path: Path) -> float:
    """The quality, 1 to 100, whose luma table is as coarse as the file's, by libjpeg's scale."""
    with Image.open(path) as image:
        table = image.quantization[0]
    scale = 100 * sum(table) / _SUM_AT_50
    return max(1.0, min(100.0, 5000 / scale if scale > 100 else 100 - scale / 2))


_SUM_AT_50 = 3688  # of the luma table in annex K of the JPEG standard
