from __future__ import annotations

import io
import struct

import pytest
from PIL import Image

from halfbyte._native import Transcoded, restore_metadata, transcode
from halfbyte.codecs.scan_script import ScanScript
from halfbyte.errors import CorruptImage
from photos import jpeg, photo

SOI, EOI = b"\xff\xd8", b"\xff\xd9"
STANDARD = ScanScript.preset("standard").native()


def assemble(result: Transcoded) -> bytes:
    return b"".join(result.levels) + EOI


def segment(marker: int, payload: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(payload) + 2) + payload


def opened(data: bytes) -> tuple[dict[object, object], bytes]:
    """What Pillow tells of a file besides its kind, and the pixels."""
    image = Image.open(io.BytesIO(data))
    image.load()
    info = {key: value for key, value in image.info.items() if key not in ("progressive", "progression")}
    return info, image.tobytes()


def test_plain_files_have_no_metadata() -> None:
    result = transcode(jpeg(photo(1), dpi=(72, 72)), STANDARD)
    assert (result.metadata, result.trailing) == (b"", b"")
    assert Image.open(io.BytesIO(assemble(result))).info["dpi"] == (72, 72)


def test_metadata_comes_back_as_it_was() -> None:
    exif = Image.Exif()
    exif[0x0112] = 8
    data = jpeg(photo(1), exif=exif, icc_profile=b"p" * 70000, comment="hello", dpi=(72, 72)) + b"motion"
    result = transcode(data, STANDARD)
    restored = restore_metadata(assemble(result), result.metadata, result.trailing)
    assert result.orientation == 8
    assert result.trailing == b"motion"
    assert len(assemble(result)) < 7000
    assert opened(restored) == opened(data)
    assert transcode(restored, STANDARD).metadata == result.metadata


def test_restoring_needs_no_end_marker() -> None:
    result = transcode(jpeg(photo(1), comment="hello"), STANDARD)
    joined = b"".join(result.levels)
    assert restore_metadata(joined, b"", b"") == joined + EOI
    assert restore_metadata(joined, result.metadata, b"x") == restore_metadata(
        joined + EOI, result.metadata, b"x"
    )


def test_thumbnails_stay_out_of_the_levels() -> None:
    plain = jpeg(photo(1))
    thumbnail = b"JFIF\0\x01\x02\x01\0\x48\0\x48\x02\x02" + bytes(range(12))
    data = SOI + segment(0xE0, thumbnail) + plain[20:]
    result = transcode(data, STANDARD)
    assert result.levels[0].startswith(SOI + segment(0xE0, thumbnail[:12] + b"\0\0") + b"\xff\xdb")
    assert result.metadata == segment(0xE0, thumbnail)


@pytest.mark.parametrize(
    "metadata", [b"\xff", b"\xff\xe1\0\x05ab", b"\xff\xdb\0\x02", b"\xff\xe1\0\x01", b"text"]
)
def test_broken_metadata_is_not_restored(metadata: bytes) -> None:
    image = assemble(transcode(jpeg(photo(1)), STANDARD))
    with pytest.raises(CorruptImage, match="no whole APPn or COM segment at byte 0"):
        restore_metadata(image, metadata, b"")
