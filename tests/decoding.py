"""Short ways to call the native decoder, and Pillow's answer to the same question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from halfbyte import _native

POOL = _native.Pool(1)


def decode(
    samples: Sequence[Sequence[bytes]],
    sizes: Sequence[tuple[int, int]],
    out: np.ndarray,
    *,
    boxes: Sequence[Sequence[float]] | None = None,
    clip: bool = True,
    orientation: int = 1,
    flip: bool = False,
    lut: np.ndarray | None = None,
    pool: _native.Pool = POOL,
    limits: _native.Limits | None = None,
    **options: float,
) -> list[tuple[int, str, str]]:
    """Decodes samples, each a list of slices; whole pictures unless boxes are given."""
    buffers = [part for parts in samples for part in parts]
    slices = np.array([(i, 0, len(part)) for i, part in enumerate(buffers)], np.int64).reshape(-1, 3)
    starts = np.cumsum([0, *(len(parts) for parts in samples)])
    if boxes is None:
        boxes = [(0, 0, h, w) if orientation > 4 else (0, 0, w, h) for w, h in sizes]
    count = len(samples)
    return _native.decode(
        pool, buffers, slices, starts, np.array(boxes, float).reshape(count, 4), clip,
        np.full(count, orientation, np.uint8), np.full(count, flip),
        np.array(sizes, np.int64).reshape(count, 2), out, lut, limits or _native.Limits(), **options,
    )  # fmt: skip


def pixels(
    data: bytes, size: tuple[int, int], out: tuple[int, int], channels: int = 3, **options: Any
) -> np.ndarray:
    """One picture as (height, width, channels)."""
    result = np.full((1, out[1], out[0], channels), 99, np.uint8)
    assert decode([[data]], [size], result.transpose(0, 3, 1, 2), **options) == []
    return result[0]


def resized(image: Image.Image, size: tuple[int, int], box: tuple[float, ...] | None = None) -> np.ndarray:
    """Pillow's resize, one axis a call: which pass it takes first depends on its version."""
    x0, y0, x1, y1 = box or (0, 0, *image.size)
    wide = image.resize((size[0], image.height), Image.Resampling.BILINEAR, box=(x0, 0, x1, image.height))
    return np.asarray(wide.resize(size, Image.Resampling.BILINEAR, box=(0, y0, size[0], y1)))
