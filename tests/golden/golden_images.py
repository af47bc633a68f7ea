"""Small images for the golden files, drawn by formulas, and their progressive JPEGs cut into levels.

The cutting is done here and not by the library's transcoder, so that the golden files are a second opinion.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from halfbyte.codecs.encoded import EncodedSample

# In which of ten levels the scans of libjpeg's progressions go, by number of components.
LEVELS_OF_SCANS = {
    1: (1, 2, 5, 6, 7, 10),
    3: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    4: (1, 2, 2, 2, 2, 5, 5, 5, 5, 6, 6, 6, 6, 7, 10, 10, 10, 10),
}
_APP0, _APP1, _APP2, _APP14, _COM, _SOS = 0xE0, 0xE1, 0xE2, 0xEE, 0xFE, 0xDA
_FRAMES = (0xC0, 0xC2)


@dataclass(frozen=True)
class Pieces:
    """A JPEG taken apart: what goes into the slices, scan by scan, and what goes into the extras."""

    scans: tuple[bytes, ...]
    metadata: bytes
    trailing: bytes
    components: int


def pattern(width: int, height: int, channels: int, *, seed: int) -> np.ndarray[Any, Any]:
    """A picture with edges, slopes and some texture: uint8 (height, width, channels)."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = []
    for c in range(channels):
        waves = np.sin(x / (3 + c + seed % 5)) + np.cos(y / (4 + c))
        disc = (x - width / 2) ** 2 + (y - height / 2) ** 2 < (min(width, height) / (3 + c)) ** 2
        grain = (x * 7 + y * 13 + seed) % 11 - 5
        planes.append(120 + 45 * waves + 60 * disc + 3 * grain)
    pixels: np.ndarray[Any, Any] = np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)
    return pixels


def jpeg(
    pixels: np.ndarray[Any, Any], *, quality: int = 85, segments: bytes = b"", tail: bytes = b""
) -> bytes:
    """A progressive JPEG by Pillow, with further segments after its first one, and a tail."""
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    if pixels.shape[2] == 4:
        image = Image.frombytes("CMYK", image.size, pixels.tobytes())
    out = io.BytesIO()
    image.save(
        out, "JPEG", quality=quality, progressive=True, subsampling="4:2:0" if pixels.shape[2] == 3 else -1
    )
    data = out.getvalue()
    first = 4 + struct.unpack_from(">H", data, 4)[0]
    return data[:first] + segments + data[first:] + tail


def segment(marker: int, payload: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload


def orientation_segment(orientation: int) -> bytes:
    """An EXIF segment that says the orientation and nothing else."""
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
    return segment(_APP1, b"Exif\0\0MM\0*\0\0\0\x08\0\x01" + entry + b"\0\0\0\0")


def comment(text: str) -> bytes:
    return segment(_COM, text.encode())


def profile(size: int) -> bytes:
    """Something in the place of an ICC profile."""
    return segment(_APP2, b"ICC_PROFILE\0\x01\x01" + bytes(i * 37 % 256 for i in range(size)))


def take_apart(data: bytes) -> Pieces:
    """Walk the markers of a progressive JPEG (ITU-T T.81, annex B)."""
    scans: list[bytes] = []
    kept, metadata, at, components = b"\xff\xd8", b"", 2, 0
    while data[at + 1] != 0xD9:
        marker, end = data[at + 1], at + 2 + struct.unpack_from(">H", data, at + 2)[0]
        part = data[at:end]
        if marker in range(_APP0, _APP0 + 16) or marker == _COM:
            metadata += part
            kept += part if marker in (_APP0, _APP14) else b""
        else:
            kept += part
        if marker in _FRAMES:
            components = data[at + 9]
        if marker == _SOS:
            while not (data[end] == 0xFF and data[end + 1] != 0):
                end += 1
            scans.append(kept + data[at + len(part) : end])
            kept = b""
        at = end
    return Pieces(tuple(scans), metadata, data[at + 2 :], components)


def jpeg_sample(key: str, data: bytes, fields: dict[str, Any], *, num_levels: int) -> EncodedSample:
    """A sample of codec jpeg; with fewer than ten levels, the last one holds all further scans."""
    pieces = take_apart(data)
    slices = [b""] * num_levels
    for scan, level in zip(pieces.scans, LEVELS_OF_SCANS[pieces.components], strict=True):
        slices[min(level, num_levels) - 1] += scan
    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        orientation = image.getexif().get(0x0112, 1)
    # Where the slices hold the very same segments already, the extras hold none.
    metadata = b"" if pieces.metadata in slices[0] else pieces.metadata
    return EncodedSample(
        key, 1, tuple(slices), width, height, orientation, len(data), metadata, pieces.trailing, fields
    )


def raw_sample(key: str, data: bytes, fields: dict[str, Any]) -> EncodedSample:
    """A sample of codec raw, of unknown size."""
    return EncodedSample(key, 0, (data,), 0, 0, 1, len(data), fields=fields)


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()
