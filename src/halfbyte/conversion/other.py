"""Images that are no JPEG, made into one: only when asked, because it loses something."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from halfbyte._native import Limits
from halfbyte.codecs.pillow import eight_bits, is_deep, opened, require_pillow

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
    return require_pillow("encode_other (leave it out to store other images as they are)")


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
        CorruptImage, UnsupportedImage: Pillow cannot decode it, or its size or EXIF does not fit a JPEG.
        LimitExceeded: over ``limits.max_pixels``.
    """
    with opened(data, limits=limits, where="image") as image:
        several = getattr(image, "n_frames", 1) > 1
        image.load()
        return _save(image, quality), _losses(image, several)


def _losses(image: Image, several: bool) -> list[str]:
    transparent = image.mode in _ALPHA_MODES or "transparency" in image.info
    found = {
        "transparency dropped": transparent,
        "first frame only": several,
        "16 bits to 8": is_deep(image),
    }
    return [loss for loss, happened in found.items() if happened]


def _save(image: Image, quality: int) -> bytes:
    flat = eight_bits(image).convert("L" if image.mode in _GRAY_MODES or is_deep(image) else "RGB")
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
