"""Images that are no JPEG, made into one: only when asked, because it loses something."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from halfbyte._native import Limits
from halfbyte.errors import CorruptImage, LimitExceeded, MissingDecoder

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["check_encoder", "encode_other"]

# Pillow's name for 4:4:4. Screenshots and drawings, the usual PNGs, suffer most from halved colour.
_FULL_COLOUR = 0

_EXIF_PREFIX = b"Exif\0\0"

_GRAY_MODES = frozenset({"1", "L", "LA", "La"})
_ALPHA_MODES = frozenset({"LA", "La", "PA", "RGBA", "RGBa"})


def check_encoder() -> str:
    """Pillow's version; MissingDecoder if it is not installed."""
    try:
        from PIL import __version__
    except ImportError as error:
        raise MissingDecoder(
            "encode_other: makes JPEGs with Pillow, which is not installed; pip install 'halfbyte[images]', "
            "or leave encode_other out to store other images as they are"
        ) from error
    return __version__


def encode_other(data: bytes, *, quality: int, limits: Limits) -> tuple[bytes, list[str]]:
    """An image as JPEG of 8 bits, 4:4:4, with its EXIF (so its orientation) and ICC profile.

    Grey images stay grey. Lost beside the quality: transparency (dropped, as ``Image.convert("RGB")`` does
    and as the image would be decoded unconverted), all frames but the first, and the low byte of 16-bit grey.

    Args:
        data: anything that Pillow opens.
        quality: libjpeg's, 1 to 100.

    Returns:
        The JPEG, and what was lost: "transparency dropped", "first frame only", "16 bits to 8".

    Raises:
        CorruptImage: Pillow cannot decode it, or its size or EXIF does not fit a JPEG.
        LimitExceeded: over ``limits.max_pixels``.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            pixels = image.width * image.height
            if pixels > limits.max_pixels:
                raise LimitExceeded(
                    f"{image.width} x {image.height} pixels, over the limit of {limits.max_pixels} "
                    "(max_pixels)"
                )
            several = getattr(image, "n_frames", 1) > 1
            image.load()
            return _save(image, quality), _losses(image, several)
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
    ) as error:
        if isinstance(error, LimitExceeded):
            raise
        if isinstance(error, Image.DecompressionBombError):
            raise LimitExceeded(f"{error}") from error
        raise CorruptImage(f"Pillow cannot make a JPEG of it: {error}") from error


def _losses(image: Image, several: bool) -> list[str]:
    transparent = image.mode in _ALPHA_MODES or "transparency" in image.info
    found = {
        "transparency dropped": transparent,
        "first frame only": several,
        "16 bits to 8": _is_deep(image),
    }
    return [loss for loss, happened in found.items() if happened]


def _is_deep(image: Image) -> bool:
    return image.mode.startswith("I;16")


def _save(image: Image, quality: int) -> bytes:
    from PIL import Image as PillowImage

    if _is_deep(image):
        flat = PillowImage.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    else:
        flat = image.convert("L" if image.mode in _GRAY_MODES else "RGB")
    sink = io.BytesIO()
    flat.save(sink, "JPEG", quality=quality, subsampling=_FULL_COLOUR, **_metadata(image))
    return sink.getvalue()


def _metadata(image: Image) -> dict[str, bytes]:
    kept = {}
    if exif := image.info.get("exif"):
        # Pillow gives it with JPEG's prefix for some kinds and without for others.
        kept["exif"] = _EXIF_PREFIX + exif.removeprefix(_EXIF_PREFIX)
    # A profile of inks says nothing about the RGB that they become.
    if image.info.get("icc_profile") and image.mode != "CMYK":
        kept["icc_profile"] = image.info["icc_profile"]
    return kept
