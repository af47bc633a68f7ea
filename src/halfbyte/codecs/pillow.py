"""Images that are no JPEG, opened by Pillow: as what their first bytes say and nothing else.

Pillow knows formats that start other programs (EPS starts Ghostscript) or open further files, and tries them
all unless told which one to expect. Its plugins answer damage with many kinds of error: here all become ours.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from halfbyte._native import Limits
from halfbyte.codecs.sniff import ImageKind, sniff
from halfbyte.errors import CorruptImage, HalfbyteError, LimitExceeded, MissingDecoder, UnsupportedImage
from halfbyte.format.buffers import Buffer

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["eight_bits", "is_deep", "opened", "require_pillow"]

# Pillow's names; HEIF and JXL are those that the plugins for them register.
_FORMATS: dict[ImageKind, str] = {
    "jpeg": "JPEG",
    "png": "PNG",
    "gif": "GIF",
    "webp": "WEBP",
    "bmp": "BMP",
    "tiff": "TIFF",
    "avif": "AVIF",
    "heif": "HEIF",
    "jxl": "JXL",
    "jp2": "JPEG2000",
}

_DAMAGE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    ArithmeticError,
    AttributeError,
    RuntimeError,
    AssertionError,
    struct.error,
    zlib.error,
)


def require_pillow(what_for: str) -> str:
    """Pillow's version; MissingDecoder if it is not installed."""
    try:
        from PIL import __version__
    except ImportError as error:
        raise MissingDecoder(f"{what_for} needs Pillow; pip install 'halfbyte[images]'") from error
    return __version__


@contextmanager
def opened(data: Buffer, *, limits: Limits, where: str) -> Iterator[Image]:
    """An image opened by Pillow, not yet decoded; what goes wrong inside the block is translated too.

    Args:
        data: the file.
        limits: ``max_pixels`` is checked before anything is decoded.
        where: name of the image, for messages.

    Raises:
        MissingDecoder: Pillow is not installed.
        UnsupportedImage: no kind that is opened here, or one that this Pillow cannot.
        CorruptImage, LimitExceeded: as they say.
    """
    require_pillow(f"{where}: is no JPEG, and decoding it")
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=(_format_of(data, where),)) as image:
            if image.width * image.height > limits.max_pixels:
                raise LimitExceeded(
                    f"{where}: {image.width} x {image.height} pixels, over the limit of {limits.max_pixels} "
                    f"(max_pixels); raise it if the image is genuine"
                )
            yield image
    except HalfbyteError:
        raise
    # Pillow's own limit, which it warns of at half; the warning is an error where warnings are.
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise LimitExceeded(
            f"{where}: {error}; raise PIL.Image.MAX_IMAGE_PIXELS if the image is genuine"
        ) from error
    except _DAMAGE as error:
        raise CorruptImage(
            f"{where}: Pillow cannot decode it ({error or type(error).__name__}); "
            f"replace the file or leave the sample out"
        ) from error


def _format_of(data: Buffer, where: str) -> str:
    from PIL import Image

    kind = sniff(data)
    if kind is None:
        raise UnsupportedImage(
            f"{where}: begins with {bytes(data[:8]).hex(' ')}, which is no kind of image that is known; "
            f"leave the sample out"
        )
    name = _FORMATS[kind]
    Image.init()
    if name not in Image.OPEN:
        raise UnsupportedImage(
            f"{where}: is {kind}, which this Pillow cannot decode; install the plugin for it, "
            f"or leave the sample out"
        )
    return name


def is_deep(image: Image) -> bool:
    """Whether a grey image has 16 bits."""
    return image.mode.startswith("I;16")


def eight_bits(image: Image) -> Image:
    """The image with the high byte of 16-bit grey; ``Image.convert`` would clip it to white."""
    from PIL import Image as PillowImage

    if not is_deep(image):
        return image
    return PillowImage.fromarray((np.asarray(image) >> 8).astype(np.uint8))
