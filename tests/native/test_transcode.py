from __future__ import annotations

import io
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from halfbyte._native import Limits, ScanScript, Transcoded, inspect_jpeg, transcode
from halfbyte.codecs.scan_script import PRESETS
from halfbyte.codecs.scan_script import ScanScript as Script
from halfbyte.errors import CorruptImage, HalfbyteError, LimitExceeded, UnsupportedImage
from photos import jpeg, photo

DATA = Path(__file__).parent / "data"
SOI, EOI = b"\xff\xd8", b"\xff\xd9"
STANDARD = Script.preset("standard").native()


def assemble(result: Transcoded, levels: int | None = None) -> bytes:
    return b"".join(result.levels[:levels]) + EOI


def decoded(data: bytes) -> tuple[str, bytes]:
    """Mode and pixels by another libjpeg than ours."""
    image = Image.open(io.BytesIO(data))
    image.load()
    return image.mode, image.tobytes()


def cmyk(**options: object) -> bytes:
    return jpeg(photo(3, width=37, height=29).convert("CMYK"), **options)


def segment(marker: int, payload: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(payload) + 2) + payload


SOURCES = {
    "444": lambda: jpeg(photo(1, width=37, height=29), subsampling="4:4:4"),
    "422": lambda: jpeg(photo(1, width=37, height=29), subsampling="4:2:2"),
    "420": lambda: jpeg(photo(1, width=37, height=29), subsampling="4:2:0", quality=75),
    "progressive": lambda: jpeg(photo(1, width=37, height=29), progressive=True),
    "restart rows": lambda: jpeg(photo(1, width=37, height=29), restart_marker_rows=1),
    "restart blocks": lambda: jpeg(photo(1, width=37, height=29), restart_marker_blocks=1, progressive=True),
    "coarse tables": lambda: jpeg(photo(1, width=37, height=29), quality=1),
    "quality 100": lambda: jpeg(photo(1, width=37, height=29), quality=100),
    "rgb": lambda: jpeg(photo(1, width=37, height=29), keep_rgb=True),
    "grey": lambda: jpeg(photo(2, width=37, height=29, channels=1)),
    "cmyk": cmyk,
    "one pixel": lambda: jpeg(photo(1, width=1, height=1)),
    "flat": lambda: jpeg(Image.new("RGB", (64, 64), (10, 200, 30))),
    "arithmetic": (DATA / "arithmetic.jpg").read_bytes,
    "arithmetic progressive": (DATA / "arithmetic_progressive.jpg").read_bytes,
    "asymmetric": (DATA / "asymmetric.jpg").read_bytes,
    "not interleaved": (DATA / "thirteen_blocks_a_unit.jpg").read_bytes,
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("source", SOURCES)
def test_full_fidelity_has_the_pixels_of_the_source(source: str, preset: str) -> None:
    data = SOURCES[source]()
    result = transcode(data, Script.preset(preset).native())
    info = inspect_jpeg(assemble(result))
    assert decoded(assemble(result)) == decoded(data)
    assert (info.sof, info.restart_interval, result.orientation) == (2, 0, 1)
    assert (result.width, result.height) == (info.width, info.height)


@pytest.mark.parametrize("source", ["420", "grey", "cmyk", "not interleaved"])
def test_every_fidelity_is_a_jpeg(source: str) -> None:
    result = transcode(SOURCES[source](), STANDARD)
    assert len(result.levels) == 10
    for fidelity in range(1, 11):
        assert len(decoded(assemble(result, fidelity))[1]) > 0


def test_levels_hold_their_scans() -> None:
    result = transcode(SOURCES["420"](), STANDARD)
    ends = np.cumsum([len(level) for level in result.levels])
    info = inspect_jpeg(assemble(result))
    assert [scan.end for scan in info.scans] == ends.tolist()
    assert result.levels[0].startswith(SOI)
    scans = [(s.components, s.ss, s.se, s.ah, s.al) for s in info.scans]
    assert scans == [scan for level in STANDARD.levels("ycc") for scan in level]


def test_grey_leaves_the_chroma_levels_empty() -> None:
    result = transcode(SOURCES["grey"](), STANDARD)
    assert [len(level) > 0 for level in result.levels] == [
        True,
        True,
        False,
        False,
        True,
        True,
        True,
        False,
        False,
        True,
    ]


def test_wide_units_split_their_dc_scans() -> None:
    info = inspect_jpeg(assemble(transcode(SOURCES["not interleaved"](), STANDARD)))
    assert [(s.components, s.se) for s in info.scans[:4]] == [([0], 0), ([1], 0), ([2], 0), ([0], 5)]
    assert len(info.scans) == 14


def test_size_is_that_of_libjpegs_own_progression() -> None:
    image = photo(5, width=200, height=160)
    ours = assemble(transcode(jpeg(image, quality=85), STANDARD))
    assert len(ours) <= len(jpeg(image, quality=85, progressive=True))


@pytest.mark.parametrize("preset", PRESETS)
def test_scripts_can_be_changed_back(preset: str) -> None:
    first = assemble(transcode(SOURCES["422"](), STANDARD))
    other = assemble(transcode(first, Script.preset(preset).native()))
    assert assemble(transcode(other, STANDARD)) == first


def test_long_runs_of_empty_blocks_are_coded() -> None:
    image = Image.new("L", (2048, 2048), 99)
    image.putpixel((2047, 2047), 255)
    data = jpeg(image)
    assert decoded(assemble(transcode(data, STANDARD))) == decoded(data)


def test_scans_with_millions_of_symbols_are_coded() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (2304, 2304), dtype=np.uint8)
    data = jpeg(Image.fromarray(noise), quality=100)
    assert decoded(assemble(transcode(data, STANDARD))) == decoded(data)


def test_random_coefficients_survive_odd_scripts() -> None:
    text = "0,1,2: 0-0, 0, 3;\n0: 1-63, 0, 5;\n" + "".join(
        f"0: 1-63, {a}, {a - 1};\n" for a in range(5, 0, -1)
    )
    text += "1: 1-1, 0, 0; 1: 2-63, 0, 1; 2: 1-63, 0, 0;\n0,2: 0-0, 3, 2; 1: 0-0, 3, 2;\n1: 2-63, 1, 0;\n"
    script = Script.from_text(text + "0,1,2: 0-0, 2, 1;\n0,1,2: 0-0, 1, 0;\n").native()
    for seed in range(8):
        noise = np.random.default_rng(seed).integers(0, 256, (40, 50, 3), dtype=np.uint8)
        data = jpeg(Image.fromarray(noise), quality=20 + 10 * seed)
        assert decoded(assemble(transcode(data, script))) == decoded(data)


def test_tables_that_change_between_scans_are_kept() -> None:
    data = SOURCES["not interleaved"]()
    at = inspect_jpeg(data).scans[1].end
    changed = data[:at] + segment(0xDB, b"\x01" + bytes(range(1, 65))) + data[at:]
    assert decoded(changed) != decoded(data)
    assert decoded(assemble(transcode(changed, STANDARD))) == decoded(changed)


def two_components() -> bytes:
    frame = segment(0xC0, b"\x08\0\x08\0\x08\x02\x01\x11\0\x02\x11\0")
    return SOI + frame + segment(0xDA, b"\x02\x01\0\x02\0\0\x3f\0") + EOI


def incomplete() -> bytes:
    data = SOURCES["progressive"]()
    return data[: inspect_jpeg(data).scans[4].end] + EOI


def late_exif() -> bytes:
    data = SOURCES["progressive"]()
    at = inspect_jpeg(data).scans[2].end
    return data[:at] + segment(0xE1, b"Exif\0\0") + data[at:]


def beyond_eleven_bits() -> bytes:
    tables = segment(0xDB, bytes(1) + b"\x01" * 64)
    codes = segment(0xC4, b"\0\x01" + bytes(15) + b"\0" + b"\x10\x01\x01" + bytes(14) + b"\x0b\0")
    frame = segment(0xC0, b"\x08\0\x08\0\x08\x01\x01\x11\0")
    return SOI + tables + frame + codes + segment(0xDA, b"\x01\x01\0\0\x3f\0") + b"\x20\x05" + EOI


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ((DATA / "twelve_bit.jpg").read_bytes, "^12-bit samples$"),
        ((DATA / "lossless.jpg").read_bytes, "^lossless JPEG$"),
        ((DATA / "hierarchical.jpg").read_bytes, "^hierarchical JPEG: marker 0xDE"),
        ((DATA / "height_by_dnl.jpg").read_bytes, "^height after the first scan: "),
        (two_components, "^2 components$"),
        (incomplete, "^incomplete scans: no scan completes coefficient 0 of component 0"),
        (late_exif, "^late markers: a JFIF, Adobe, EXIF or ICC segment stands after the frame header"),
        (beyond_eleven_bits, "^coefficients out of range: larger than JPEG allows for 8-bit samples"),
    ],
)
def test_reasons_come_first(source: object, message: str) -> None:
    with pytest.raises(UnsupportedImage, match=message):
        transcode(source(), STANDARD)


def test_missing_colour_models_are_unsupported() -> None:
    script = ScanScript({"gray": [[([0], 0, 0, 0, 0), ([0], 1, 63, 0, 0)]]})
    assert len(transcode(SOURCES["grey"](), script).levels) == 1
    with pytest.raises(
        UnsupportedImage, match=r"^no scans for its colours: the scan script lacks this colour model"
    ):
        transcode(SOURCES["420"](), script)


def test_files_that_end_early_are_damaged() -> None:
    data = SOURCES["420"]()
    for length in range(0, len(data), 7):
        with pytest.raises(CorruptImage, match=r"^damaged: the file ends early: the JPEG goes on after byte"):
            transcode(data[:length], STANDARD)


def test_what_libjpeg_only_warns_of_is_damage() -> None:
    data = SOURCES["420"]()
    with pytest.raises(CorruptImage, match=r"^damaged: Corrupt JPEG data: premature end of data segment"):
        transcode(data[:-40] + EOI, STANDARD)
    with pytest.raises(CorruptImage, match=r"^damaged: Corrupt JPEG data: .* extraneous bytes"):
        transcode(data[:-2] + bytes(64) + EOI, STANDARD)


def test_flipped_bytes_give_an_error_or_an_equal_image() -> None:
    data = SOURCES["420"]()
    random = np.random.default_rng(1)
    for at in random.integers(0, len(data), 300).tolist():
        flipped = bytearray(data)
        flipped[at] ^= int(random.integers(1, 256))
        try:
            result = transcode(flipped, STANDARD)
        except HalfbyteError:
            continue
        assert decoded(assemble(result)) == decoded(bytes(flipped))


def test_limits_are_those_of_the_caller() -> None:
    with pytest.raises(LimitExceeded, match="37 x 29 pixels, over the limit of 1000"):
        transcode(SOURCES["420"](), STANDARD, Limits(max_pixels=1000))
    with pytest.raises(LimitExceeded, match="more than 3 scans"):
        transcode(SOURCES["progressive"](), STANDARD, Limits(max_scans=3))


def test_threads_transcode_side_by_side() -> None:
    sources = [jpeg(photo(seed), quality=95) for seed in range(4)]
    expected = [transcode(data, STANDARD).levels for data in sources]
    found: dict[int, list[list[bytes]]] = {}

    def work(i: int) -> None:
        found[i] = [transcode(memoryview(sources[i]), STANDARD).levels for _ in range(5)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: [expected[i]] * 5 for i in range(4)}


def test_results_tell_what_they_are() -> None:
    result = transcode(SOURCES["grey"]() + b"tail", STANDARD)
    size = sum(map(len, result.levels))
    assert (
        repr(result) == f"Transcoded(37x29, orientation 1, 10 levels of {size} bytes, metadata 0, trailing 4)"
    )
    assert repr(STANDARD) == "ScanScript(10 levels)"
