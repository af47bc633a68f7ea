"""Random resized crop to 224 and flip, by Pillow, for the peers that leave this to their users."""

from __future__ import annotations

import io
import math
import random

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from peers.task import SIZE

__all__ = ["pillow_view", "view"]

_AREA, _RATIO, _ATTEMPTS = (0.08, 1.0), (3 / 4, 4 / 3), 10


def pillow_view(data: bytes) -> NDArray[np.uint8]:
    """Decode a file with Pillow and take a random view of it, uint8 (3, 224, 224)."""
    return view(Image.open(io.BytesIO(data)))


def view(image: Image.Image) -> NDArray[np.uint8]:
    """A random view, uint8 (3, 224, 224), antialiased bilinear."""
    image = image.convert("RGB")
    image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box=_box(image.width, image.height))
    if random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.ascontiguousarray(np.asarray(image).transpose(2, 0, 1))


def _box(width: int, height: int) -> tuple[int, int, int, int]:
    """Left, top, right and bottom, with the distribution of torchvision's RandomResizedCrop."""
    for _ in range(_ATTEMPTS):
        area = width * height * random.uniform(*_AREA)
        ratio = math.exp(random.uniform(math.log(_RATIO[0]), math.log(_RATIO[1])))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            break
    else:
        w, h = min(width, round(height * _RATIO[1])), min(height, round(width / _RATIO[0]))
    x, y = random.randint(0, width - w), random.randint(0, height - h)
    return x, y, x + w, y + h
