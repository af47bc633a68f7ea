"""The ``raw`` codec: the file as it came, all in level 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfbyte._native import Limits
from halfbyte.codecs.encoded import EncodedSample
from halfbyte.codecs.pillow import eight_bits, opened
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
        MissingDecoder, UnsupportedImage, CorruptImage, LimitExceeded: as of ``codecs.pillow.opened``.
    """
    with opened(data, limits=limits, where=where) as image:
        from PIL import ImageOps

        upright = eight_bits(ImageOps.exif_transpose(image))
        pixels = np.asarray(upright.convert("L" if gray else "RGB"))
    return pixels[:, :, None] if gray else pixels
