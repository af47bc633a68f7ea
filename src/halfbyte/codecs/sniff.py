"""What a file is, by its first bytes: names and extensions lie."""

from __future__ import annotations

from typing import Literal

from halfbyte.format.buffers import Buffer

__all__ = ["SNIFF_BYTES", "ImageKind", "sniff"]

SNIFF_BYTES = 32
"""How much of a file decides what it is."""

ImageKind = Literal["jpeg", "png", "gif", "webp", "bmp", "tiff", "avif", "heif", "jxl", "jp2"]

# Bytes at offsets; all of them must be there.
_SIGNATURES: tuple[tuple[ImageKind, dict[int, bytes]], ...] = (
    ("jpeg", {0: b"\xff\xd8\xff"}),
    ("png", {0: b"\x89PNG\r\n\x1a\n"}),
    ("gif", {0: b"GIF87a"}),
    ("gif", {0: b"GIF89a"}),
    ("webp", {0: b"RIFF", 8: b"WEBP"}),
    ("bmp", {0: b"BM", 6: b"\0\0\0\0"}),  # with the reserved fields: many a text begins with BM
    ("tiff", {0: b"II*\0"}),
    ("tiff", {0: b"MM\0*"}),
    ("tiff", {0: b"II+\0"}),
    ("tiff", {0: b"MM\0+"}),
    ("avif", {4: b"ftypavif"}),
    ("avif", {4: b"ftypavis"}),
    ("heif", {4: b"ftypheic"}),
    ("heif", {4: b"ftypheix"}),
    ("heif", {4: b"ftypmif1"}),
    ("jxl", {0: b"\xff\x0a"}),
    ("jxl", {0: b"\0\0\0\x0cJXL \r\n\x87\n"}),
    ("jp2", {0: b"\0\0\0\x0cjP  \r\n\x87\n"}),
)


def sniff(data: Buffer) -> ImageKind | None:
    """The kind of image that ``data`` begins with; None if it is none that is known."""
    head = bytes(data[:SNIFF_BYTES])
    for kind, signature in _SIGNATURES:
        if all(head[offset:].startswith(part) for offset, part in signature.items()):
            return kind
    return None
