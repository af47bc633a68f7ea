from __future__ import annotations

import pytest
from folders import picture

from halfbyte.codecs.sniff import sniff
from halfbyte.conversion.dimensions import claimed_size


@pytest.mark.parametrize(
    "data",
    [
        picture("PNG"),
        picture("GIF"),
        picture("BMP"),
        picture("WEBP"),
        picture("WEBP", lossless=True),
        picture("WEBP", exif=b"Exif\0\0II*\0\x08\0\0\0\0\0"),
    ],
    ids=["png", "gif", "bmp", "webp", "webp-lossless", "webp-extended"],
)
def test_size_is_that_of_the_picture(data: bytes) -> None:
    kind = sniff(data)
    assert kind is not None
    assert claimed_size(data, kind) == (64, 48)
    assert claimed_size(data[:16], kind) is None or kind == "gif"


def test_old_and_upside_down_bitmaps_have_sizes_too() -> None:
    head = b"BM" + bytes(12)
    assert claimed_size(head + b"\x0c\0\0\0" + b"\x05\0\x07\0", "bmp") == (5, 7)
    assert claimed_size(head + b"\x28\0\0\0" + b"\x05\0\0\0" + b"\xf9\xff\xff\xff", "bmp") == (5, 7)


def test_other_kinds_are_not_looked_into() -> None:
    assert claimed_size(picture("TIFF"), "tiff") is None
