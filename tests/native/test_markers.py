from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from halfbyte._native import Limits, inspect_jpeg
from halfbyte.errors import CorruptImage, LimitExceeded, NeedMoreBytes, UnsupportedImage
from photos import jpeg, photo, scan_ends

DATA = Path(__file__).parent / "data"
SOI, EOI = b"\xff\xd8", b"\xff\xd9"


def segment(marker: int, payload: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(payload) + 2) + payload


def frame(width: int = 8, height: int = 8, *, sof: int = 0, precision: int = 8, components: int = 1) -> bytes:
    parts = b"".join(bytes([i + 1, 0x11, 0]) for i in range(components))
    return segment(0xC0 | sof, struct.pack(">BHHB", precision, height, width, components) + parts)


def scan(data: bytes = b"\x12\x34", *, component: int = 1) -> bytes:
    return segment(0xDA, bytes([1, component, 0, 0, 63, 0])) + data


def file(*parts: bytes) -> bytes:
    """A file that is right to the marker walk; there is no picture in it."""
    return SOI + b"".join(parts) + EOI


def tiff(
    order: str, value: int, *, tag: int = 0x0112, kind: int = 3, count: int = 1, directory: int = 8
) -> bytes:
    packed = struct.pack(f"{order}HH", value, 0) if kind == 3 else struct.pack(f"{order}I", value)
    entries = (
        struct.pack(f"{order}HHHII", 2, 0x0100, 4, 1, 640)
        + struct.pack(f"{order}HHI", tag, kind, count)
        + packed
    )
    header = b"II*\0" if order == "<" else b"MM\0*"
    return header + struct.pack(f"{order}I", directory) + entries + b"\0\0\0\0"


def with_exif(body: bytes) -> bytes:
    return file(segment(0xE1, b"Exif\0\0" + body), frame(), scan())


def test_baseline_file_is_described() -> None:
    info = inspect_jpeg(jpeg(photo(1, width=33, height=17), subsampling="4:2:0", quality=90) + b"tail")
    assert (info.width, info.height, info.precision, info.sof, info.restart_interval) == (33, 17, 8, 0, 0)
    assert [(c.id, c.h, c.v, c.table) for c in info.components] == [(1, 2, 2, 0), (2, 1, 1, 1), (3, 1, 1, 1)]
    assert [(s.components, s.ss, s.se, s.ah, s.al) for s in info.scans] == [([0, 1, 2], 0, 63, 0, 0)]
    assert (info.jfif, info.adobe_transform, info.orientation, info.trailing) == (True, None, 1, 4)
    assert (info.has_exif, info.has_icc, info.has_xmp, info.has_comment) == (False, False, False, False)


def test_progressive_scans_tile_the_file() -> None:
    data = jpeg(photo(1), progressive=True)
    info = inspect_jpeg(data)
    assert [s.begin for s in info.scans] == [0, *(s.end for s in info.scans[:-1])]
    assert [s.end for s in info.scans] == scan_ends(data)
    assert info.end_of_image == len(data) == info.scans[-1].end + 2
    assert [(s.components, s.ss, s.se, s.ah, s.al) for s in info.scans[:2]] == [
        ([0, 1, 2], 0, 0, 0, 1),
        ([0], 1, 5, 0, 2),
    ]


def test_restart_markers_and_stuffed_bytes_are_data() -> None:
    data = jpeg(photo(3, width=96, height=96), quality=98, restart_marker_rows=1)
    assert b"\xff\xd0" in data
    assert b"\xff\x00" in data
    info = inspect_jpeg(data)
    assert len(info.scans) == 1
    assert info.restart_interval > 0


def test_marker_segments_are_told() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    info = inspect_jpeg(
        jpeg(photo(1), exif=exif, icc_profile=b"profile", comment="hello", xmp=b"<x:xmpmeta/>", dpi=(72, 72))
    )
    assert (info.has_exif, info.has_icc, info.has_xmp, info.has_comment) == (True, True, True, True)
    assert info.orientation == 6


def test_adobe_transform_is_told() -> None:
    assert inspect_jpeg(jpeg(Image.new("CMYK", (8, 8)))).adobe_transform == 0


def test_jpegs_inside_segments_are_stepped_over() -> None:
    thumbnail = jpeg(photo(2, width=16, height=16))
    data = file(segment(0xE1, thumbnail), frame(), scan())
    info = inspect_jpeg(data + thumbnail)
    assert (info.width, len(info.scans), info.trailing) == (8, 1, len(thumbnail))


def test_fill_bytes_may_precede_any_marker() -> None:
    fill = b"\xff\xff"
    info = inspect_jpeg(
        SOI + fill + frame() + fill + scan(b"\x01\xff\xff\x00\x02") + fill + scan() + fill + EOI
    )
    assert len(info.scans) == 2
    assert info.trailing == 0


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"quality": 99, "restart_marker_blocks": 1}])
def test_every_prefix_needs_more_bytes(options: dict[str, object]) -> None:
    data = jpeg(photo(1, width=40, height=24), comment="x" * 40, **options)
    for length in range(len(data)):
        with pytest.raises(NeedMoreBytes, match="the JPEG goes on after byte") as caught:
            inspect_jpeg(data[:length])
        assert caught.value.have == length < caught.value.need <= len(data)
    assert inspect_jpeg(data).end_of_image == len(data)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", [3, 4])
@pytest.mark.parametrize("value", range(1, 9))
def test_orientation_is_read_in_both_byte_orders(order: str, kind: int, value: int) -> None:
    assert inspect_jpeg(with_exif(tiff(order, value, kind=kind))).orientation == value


@pytest.mark.parametrize(
    "body",
    [
        tiff("<", 0),
        tiff(">", 9),
        tiff("<", 6, tag=0x0111),
        tiff("<", 6, kind=7),
        tiff("<", 6, count=2),
        tiff("<", 6, directory=0xFFFFFFFF),
        tiff(">", 6, directory=21),
        tiff("<", 6)[:-8],
        b"II+\0" + tiff("<", 6)[4:],
        b"",
    ],
)
def test_senseless_orientation_is_upright(body: bytes) -> None:
    assert inspect_jpeg(with_exif(body)).orientation == 1


def test_exif_after_the_first_scan_does_not_orient() -> None:
    info = inspect_jpeg(
        file(frame(components=2), scan(), segment(0xE1, b"Exif\0\0" + tiff("<", 6)), scan(component=2))
    )
    assert (info.has_exif, info.orientation) == (True, 1)


@pytest.mark.parametrize(
    ("name", "sof", "precision"),
    [("arithmetic", 9, 8), ("arithmetic_progressive", 10, 8), ("lossless", 3, 8), ("twelve_bit", 1, 12)],
)
def test_kinds_of_frames_are_told(name: str, sof: int, precision: int) -> None:
    info = inspect_jpeg((DATA / f"{name}.jpg").read_bytes())
    assert (info.sof, info.precision) == (sof, precision)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hierarchical", "^hierarchical JPEG: marker 0xDE"),
        ("jpeg_ls", "^JPEG-LS: marker 0xF7"),
        ("height_by_dnl", "^height after the first scan: the frame header leaves it to a DNL marker"),
    ],
)
def test_kinds_beyond_us_are_unsupported(name: str, message: str) -> None:
    with pytest.raises(UnsupportedImage, match=message):
        inspect_jpeg((DATA / f"{name}.jpg").read_bytes())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x89PNG", "^not a JPEG: byte 0 is 0x89, but a JPEG starts with 0xFF 0xD8"),
        (b"\xff\x4f", "^not a JPEG: byte 1 is 0x4F"),
        (file(b"\0"), "^damaged: expected a marker at byte 2, found 0x00"),
        (file(b"\xff\0"), "^damaged: marker 0x00 at byte 2 does not belong"),
        (file(SOI), "^damaged: marker 0xD8 at byte 2 does not belong"),
        (file(b"\xff\xd3"), "^damaged: marker 0xD3 at byte 2 does not belong"),
        (file(b"\xff\xe0\0\x01"), "^damaged: a segment of 1 bytes at byte 4, expected 2 or more"),
        (file(segment(0x02, b"")), "^damaged: unknown marker 0x02 at byte 2"),
        (file(frame()), "^damaged: the image ends before its first scan"),
        (file(scan()), "^damaged: a scan before the frame header"),
        (file(frame(), frame()), "^damaged: a second frame header"),
        (file(segment(0xC0, b"\x08\0\x08\0\x08\x02\x01\x11\0")), "^damaged: a frame header of 9 bytes"),
        (file(frame(width=0)), "^damaged: the frame header says width 0"),
        (file(frame().replace(b"\x11", b"\x51")), "^damaged: sampling factors 0x51"),
        (
            file(frame(components=2).replace(b"\x02\x11", b"\x01\x11")),
            "^damaged: two components have the id 1",
        ),
        (file(frame(), scan(component=7)), "^damaged: a scan of component id 7, which the frame lacks"),
        (
            file(frame(), segment(0xDA, b"\x02\x01\0\x01\0\0\x3f\0")),
            "^damaged: a scan that names component id 1 twice",
        ),
        (file(frame(), segment(0xDA, b"\x02\x01\0\0\x3f\0")), "^damaged: a scan header of 6 bytes"),
        (file(segment(0xDD, b"\0")), "^damaged: a restart interval of 1 bytes, expected 2"),
        (
            file(frame(), scan(), segment(0xE0, b""), b"junk"),
            "^damaged: expected a marker at byte 31, found 0x6A",
        ),
    ],
)
def test_damage_is_located(data: bytes, message: str) -> None:
    with pytest.raises(CorruptImage, match=message):
        inspect_jpeg(data)


@pytest.mark.parametrize(
    ("data", "limits", "message"),
    [
        (
            SOI + frame(64250, 64250),
            Limits(),
            r"^64250 x 64250 pixels, over the limit of 268435456 \(max_pixels\)",
        ),
        (SOI + frame(9, 9), Limits(max_pixels=80), "^9 x 9 pixels, over the limit of 80"),
        (SOI + frame(components=5), Limits(), r"^5 components, over the limit of 4 \(max_components\)"),
        (
            SOI + frame(9, 9, components=3),
            Limits(max_coefficient_bytes=1535),
            r"^1536 bytes of coefficients, over the limit of 1535 \(max_coefficient_bytes\)",
        ),
        (
            file(frame(), scan(), scan(), scan()),
            Limits(max_scans=2),
            r"^more than 2 scans, over the limit of 2 \(max_scans\)",
        ),
    ],
)
def test_limits_hold_from_the_header_on(data: bytes, limits: Limits, message: str) -> None:
    with pytest.raises(LimitExceeded, match=message):
        inspect_jpeg(data, limits)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda data: np.frombuffer(data, np.uint8)])
def test_any_contiguous_buffer_is_read(kind: type) -> None:
    assert inspect_jpeg(kind(file(frame(), scan()))).width == 8


def test_strided_buffers_are_refused() -> None:
    with pytest.raises(BufferError, match="contiguous"):
        inspect_jpeg(memoryview(file(frame(), scan()))[::2])


def test_reprs_tell_what_it_is() -> None:
    info = inspect_jpeg(file(frame(), scan()) + b"!")
    assert repr(info) == "JpegInfo(8x8, SOF0, 8 bits, 1 components, 1 scans, 29 bytes and 1 after them)"
    assert repr(info.scans[0]) == "JpegScan(components=[0], ss=0, se=63, ah=0, al=0, begin=0, end=27)"
    assert repr(info.components[0]) == "JpegComponent(id=1, h=1, v=1, table=0)"
    assert repr(Limits(max_scans=7)).startswith("Limits(max_pixels=268435456, max_components=4, max_scans=7,")
