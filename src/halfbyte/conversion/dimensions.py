"""Width and height that the first bytes of an image claim, so that a bomb is refused without decoding it."""

from __future__ import annotations

import struct

from halfbyte.codecs.sniff import ImageKind

__all__ = ["claimed_size"]

_VP8_START = b"\x9d\x01\x2a"
_VP8L_SIGNATURE = 0x2F
_OLD_BMP_HEADER = 12


def claimed_size(data: bytes, kind: ImageKind) -> tuple[int, int] | None:
    """Width and height in pixels, or None for kinds and headers that are not looked into.

    Source: PNG (ISO 15948), 11.2.2; GIF89a, 18; BMP: BITMAPCOREHEADER and BITMAPINFOHEADER; WebP: RFC 9649,
    2.5-2.7.
    """
    try:
        match kind:
            case "png":
                return _pair(">II", data, 16)
            case "gif":
                return _pair("<HH", data, 6)
            case "bmp":
                return _bmp(data)
            case "webp":
                return _webp(data)
    except struct.error:  # cut before its size
        pass
    return None


def _pair(layout: str, data: bytes, offset: int) -> tuple[int, int]:
    width, height = struct.unpack_from(layout, data, offset)
    return abs(width), abs(height)


def _bmp(data: bytes) -> tuple[int, int]:
    (header_bytes,) = struct.unpack_from("<I", data, 14)
    # A negative height means rows from the top.
    return _pair("<HH" if header_bytes == _OLD_BMP_HEADER else "<ii", data, 18)


def _webp(data: bytes) -> tuple[int, int] | None:
    chunk = data[12:16]
    if chunk == b"VP8X":
        low_width, high_width, low_height, high_height = struct.unpack_from("<HBHB", data, 24)
        return (high_width << 16 | low_width) + 1, (high_height << 16 | low_height) + 1
    if chunk == b"VP8L" and data[20:21] == bytes([_VP8L_SIGNATURE]):
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8 " and data[23:26] == _VP8_START:
        width, height = _pair("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None
