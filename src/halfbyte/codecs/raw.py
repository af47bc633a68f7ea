"""The ``raw`` codec: the file as it came, all in level 1."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from halfbyte._native import Limits
from halfbyte.codecs.encoded import EncodedSample
from halfbyte.errors import CorruptImage, LimitExceeded, MissingDecoder
from halfbyte.format.buffers import Buffer
from halfbyte.format.sample_table import CODEC_RAW

__all__ = ["decode_other", "encode_raw"]


def encode_raw(
    data: bytes,
    *,
    key: str,
    fields: dict[str, Any] | None = None,
    width: int = 0,
    height: int = 0,
    orientation: int = 1,
) -> EncodedSample:
    """The whole file as level 1; sizes are those of a JPEG's header, 0 where unknown."""
    return EncodedSample(
        key=key,
        codec=CODEC_RAW,
        slices=(data,),
        width=width,
        height=height,
        orientation=orientation,
        source_bytes=len(data),
        fields=fields or {},
    )


def decode_other(data: Buffer, *, gray: bool, limits: Limits, where: str) -> npt.NDArray[np.uint8]:
    """Pixels of an image that is no JPEG, upright, by Pillow.

    The first frame; transparency is dropped as ``Image.convert("RGB")`` drops it; 16-bit grey keeps its
    high byte.

    Returns:
        uint8 (H, W, 3), or (H, W, 1) if ``gray``.

    Raises:
        MissingDecoder: Pillow is not installed.
        CorruptImage, LimitExceeded: as they say.
    """
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError as error:
        raise MissingDecoder(
            f"{where}: is no JPEG, and decoding other images needs Pillow; pip install 'halfbyte[images]'"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's size warning: our own limit is checked next
            image: Image.Image = Image.open(io.BytesIO(data))
        if image.width * image.height > limits.max_pixels:
            raise LimitExceeded(
                f"{where}: {image.width} x {image.height} pixels, over the limit of {limits.max_pixels} "
                f"(max_pixels); raise it if the image is genuine"
            )
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I;16"):
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        pixels = np.asarray(image.convert("L" if gray else "RGB"))
    # Pillow's plugins answer damaged files with many kinds of error.
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        IndexError,
        KeyError,
        TypeError,
        OverflowError,
        Image.DecompressionBombError,
        UnidentifiedImageError,
    ) as error:
        if isinstance(error, LimitExceeded):
            raise
        raise CorruptImage(
            f"{where}: Pillow cannot decode it ({error}); replace the file or leave the sample out"
        ) from error
    return pixels[:, :, None] if gray else pixels
