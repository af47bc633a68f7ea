"""The ``jpeg`` codec: a progressive JPEG cut into levels at scan ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfbyte._native import Limits, restore_metadata, transcode
from halfbyte.codecs.encoded import EncodedSample
from halfbyte.codecs.scan_script import ScanScript
from halfbyte.format.buffers import Buffer
from halfbyte.format.sample_table import CODEC_JPEG

__all__ = ["assemble_jpeg", "encode_jpeg", "restore_jpeg"]

_START_OF_IMAGE = b"\xff\xd8"
_END_OF_IMAGE = b"\xff\xd9"


def encode_jpeg(
    data: Buffer,
    *,
    key: str,
    script: ScanScript,
    fields: dict[str, Any] | None = None,
    limits: Limits | None = None,
) -> EncodedSample:
    """Transcode a JPEG to progressive scans, prove it equal, and cut it into levels.

    Raises:
        UnsupportedImage: a kind of JPEG that cannot be progressive.
        CorruptImage: damaged, or not equal after transcoding.
        LimitExceeded: over ``limits``.
    """
    result = transcode(data, script.native(), limits or Limits())
    return EncodedSample(
        key=key,
        codec=CODEC_JPEG,
        slices=tuple(result.levels),
        width=result.width,
        height=result.height,
        orientation=result.orientation,
        source_bytes=len(data),
        metadata=result.metadata,
        trailing=result.trailing,
        fields=fields or {},
    )


def assemble_jpeg(slices: Sequence[Buffer], *, orientation: int = 1) -> bytes:
    """A JPEG file from the slices of levels 1 … k, which any decoder opens.

    Orientation is not part of the slices; where it is not 1 (upright), a minimal EXIF segment says so, as
    viewers and Pillow's ``ImageOps.exif_transpose`` expect.
    """
    if orientation == 1:
        return b"".join((*slices, _END_OF_IMAGE))
    first = memoryview(slices[0])
    return b"".join((_START_OF_IMAGE, _exif_orientation(orientation), first[2:], *slices[1:], _END_OF_IMAGE))


def restore_jpeg(slices: Sequence[Buffer], *, metadata: bytes, trailing: bytes) -> bytes:
    """All levels with the source's own metadata segments and what followed the image."""
    return restore_metadata(b"".join((*slices, _END_OF_IMAGE)), metadata, trailing)


def _exif_orientation(orientation: int) -> bytes:
    """An APP1 segment with a TIFF directory of one entry (EXIF 2.3, section 4.5; TIFF 6.0, section 2)."""
    entry = b"\x01\x12\x00\x03\x00\x00\x00\x01" + orientation.to_bytes(2, "big") + b"\x00\x00"
    body = b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01" + entry + b"\x00\x00\x00\x00"
    return b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body
