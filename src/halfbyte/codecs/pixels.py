"""One sample's slices to full-size pixels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from halfbyte import _native, errors
from halfbyte.codecs.orientation import TURNED
from halfbyte.codecs.raw import decode_other
from halfbyte.codecs.sniff import sniff
from halfbyte.errors import CorruptImage
from halfbyte.format.buffers import Buffer
from halfbyte.format.sample_table import CODEC_RAW

__all__ = ["decode_pixels", "is_jpeg"]

_INLINE = _native.Pool(1)


def is_jpeg(codec: int, slices: Sequence[Buffer]) -> bool:
    """Whether the native decoder takes these slices: the jpeg codec, or a JPEG stored raw."""
    return codec != CODEC_RAW or sniff(slices[0]) == "jpeg"


def decode_pixels(
    codec: int,
    slices: Sequence[Buffer],
    *,
    size: tuple[int, int],
    orientation: int = 1,
    gray: bool = False,
    limits: _native.Limits | None = None,
    where: str = "image",
) -> npt.NDArray[np.uint8]:
    """Upright pixels at full size.

    Args:
        codec: codec id of the format.
        slices: the sample's bytes in levels 1 … k.
        size: (width, height) as stored; ignored where Pillow decodes.
        orientation: EXIF's, 1 to 8.
        gray: one channel (the Y plane) instead of RGB.

    Returns:
        uint8 (H, W, 3), or (H, W, 1) if ``gray``.

    Raises:
        CorruptImage, UnsupportedImage, LimitExceeded, MissingDecoder: as they say.
    """
    limits = limits or _native.Limits()
    if not is_jpeg(codec, slices):
        return decode_other(slices[0], gray=gray, limits=limits, where=where)
    if codec == CODEC_RAW:
        size = jpeg_size(slices[0], limits=limits, where=where)
    width, height = size
    if width * height > limits.max_pixels:
        raise errors.LimitExceeded(
            f"{where}: {width} x {height} pixels, over the limit of {limits.max_pixels} (max_pixels); "
            f"raise it if the image is genuine"
        )
    turned = orientation >= TURNED
    upright = (height, width) if turned else (width, height)
    pixels = np.empty((upright[1], upright[0], 1 if gray else 3), np.uint8)
    ranges = np.array([[i, 0, len(part)] for i, part in enumerate(slices)], np.int64)
    failures = _native.decode(
        _INLINE,
        list(slices),
        ranges,
        np.array([0, len(slices)], np.int64),
        boxes=np.array([[0, 0, *upright]], np.float64),
        clip=False,
        orientation=np.array([orientation], np.uint8),
        flip=np.zeros(1, np.uint8),
        sizes=np.array([[width, height]], np.int64),
        out=pixels.transpose(2, 0, 1)[None],
        lut=None,
        limits=limits,
    )
    for _, name, message in failures:
        raise decode_error(name, f"{where}: {message}")
    return pixels


def jpeg_size(data: Buffer, *, limits: _native.Limits, where: str) -> tuple[int, int]:
    """Width and height that a JPEG's header says."""
    try:
        info = _native.inspect_jpeg(data, limits)
    except errors.NeedMoreBytes as error:
        raise CorruptImage(f"{where}: {error}; the image is cut short: replace the file") from error
    except errors.ImageError as error:
        raise type(error)(f"{where}: {error}") from error
    return info.width, info.height


def decode_error(name: str, message: str) -> Exception:
    """The exception for a failure that the native decoder reported by name."""
    kind: type[Exception] = getattr(errors, name, MemoryError)
    return kind(message)
