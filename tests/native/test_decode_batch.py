"""Batches of prefixes: what slices may be, what is refused, and what one failure does to the rest."""

from __future__ import annotations

import io
import math
import mmap
import tempfile
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from decoding import POOL, decode, pixels, resized
from halfbyte import _native
from photos import jpeg, photo, progressive_slices, scan_ends

SIZE = (97, 61)
BASELINE = b"\xff\xc0\x00\x11\x08"  # a frame header: marker, length, bits a sample


def picture(seed: int = 0) -> Image.Image:
    return photo(seed, width=SIZE[0], height=SIZE[1])


def canvas(count: int = 1) -> np.ndarray:
    return np.full((count, 3, SIZE[1], SIZE[0]), 7, np.uint8)


def test_all_slices_together_are_the_whole_picture() -> None:
    data = jpeg(picture(), progressive=True)
    out = canvas()
    assert decode([progressive_slices(picture())], [SIZE], out) == []
    assert np.array_equal(out[0].transpose(1, 2, 0), np.asarray(Image.open(io.BytesIO(data))))


def test_prefixes_come_closer_with_more_scans() -> None:
    slices = progressive_slices(picture())
    errors = []
    for level in range(1, len(slices) + 1):
        out = canvas()
        assert decode([slices[:level]], [SIZE], out) == []
        errors.append(np.abs(out[0].transpose(1, 2, 0).astype(int) - np.asarray(picture())).mean())
    assert errors[0] > errors[4] > errors[5] > errors[-1]


@pytest.mark.parametrize("level", [1, 2, 5, 10])
def test_pixels_do_not_depend_on_where_slices_are_cut(level: int) -> None:
    data = jpeg(picture(), progressive=True)
    prefix = data[: scan_ends(data)[level - 1]]
    expected, out = canvas(), canvas()
    assert decode([[prefix]], [SIZE], expected) == []
    cuts = [0, *sorted(np.random.default_rng(0).integers(0, len(prefix), 60)), len(prefix)]
    pieces = [prefix[a:b] for a, b in pairwise(cuts)]
    assert decode([pieces], [SIZE], out) == []
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("box", [(0, 0, 97, 61), (13, 8, 40, 31)])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_dc_prefix_is_interpolated_from_one_eighth(mode: str, box: tuple[int, ...]) -> None:
    data = jpeg(picture().convert(mode), progressive=True, subsampling=0, quality=100)
    small = Image.open(io.BytesIO(data))
    small.draft(small.mode, (small.width // 8, small.height // 8))
    corners = (box[0] / 8, box[1] / 8, (box[0] + box[2]) / 8, (box[1] + box[3]) / 8)
    expected = resized(small.convert("RGB"), (50, 40), corners)
    prefix = data[: scan_ends(data)[0]]  # the DC of all components, less its lowest bit
    ours = pixels(prefix, SIZE, (50, 40), boxes=[box], clip=False)
    assert np.abs(ours.astype(int) - expected).max() <= 1


def test_slices_may_share_a_buffer_of_any_kind() -> None:
    data = jpeg(picture())
    expected = canvas()
    assert decode([[data]], [SIZE], expected) == []
    with tempfile.TemporaryFile() as file:
        file.write(b"lead" + data)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        whole = b"lead" + data
        array = np.frombuffer(whole, np.uint8)
        kinds = (whole, bytearray(whole), memoryview(whole), array, pa.py_buffer(whole), mapped)
        slices = np.array([(i, 4 + a, 100) for i in range(len(kinds)) for a in (0, 100)], np.int64)
        slices[1::2, 2] = len(data) - 100
        count = len(kinds)
        out = canvas(count)
        failures = _native.decode(
            POOL, kinds, slices, np.arange(0, 2 * count + 1, 2), np.tile((0.0, 0, *SIZE), (count, 1)), True,
            np.ones(count, np.uint8), np.zeros(count, bool), np.tile(SIZE, (count, 1)), out, None,
        )  # fmt: skip
        assert failures == []
        mapped.close()
    assert all(np.array_equal(one, expected[0]) for one in out)


def test_an_empty_batch_is_no_failure() -> None:
    assert decode([], [], np.empty((0, 3, 8, 8), np.uint8)) == []


@pytest.mark.parametrize("progressive", [False, True])
def test_a_cut_scan_fails_alone_and_leaves_zeros(progressive: bool) -> None:
    good = jpeg(picture(), progressive=progressive)
    out = canvas(3)
    failures = decode([[good], [good[: len(good) * 2 // 3]], [good]], [SIZE] * 3, out)
    assert [(index, name) for index, name, _ in failures] == [(1, "CorruptImage")]
    assert "premature end of data segment" in failures[0][2] or "ends too early" in failures[0][2]
    assert not out[1].any()
    assert np.array_equal(out[0], out[2])
    assert out[0].any()


def test_a_wrong_sample_table_is_damage() -> None:
    ((_, name, message),) = decode([[jpeg(picture())]], [(96, 61)], canvas(), boxes=[(0, 0, 90, 60)])
    assert name == "CorruptImage"
    assert message == "the header says 97 x 61, the sample table 96 x 61"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_pixels": 5916}, "max_pixels"),
        ({"max_components": 2}, "max_components"),
        ({"max_coefficient_bytes": 1000}, "max_coefficient_bytes"),
        ({"max_scans": 5}, "max_scans"),
    ],
)
def test_limits_are_named(limits: dict[str, int], message: str) -> None:
    data = jpeg(picture(), progressive=True)
    ((_, name, text),) = decode([[data]], [SIZE], canvas(), limits=_native.Limits(**limits))
    assert name == "LimitExceeded"
    assert message in text


@pytest.mark.parametrize(
    ("damage", "name", "message"),
    [
        (lambda data: b"", "CorruptImage", "Not a JPEG file"),
        (lambda data: b"GIF89a" + data, "CorruptImage", "Not a JPEG file"),
        (lambda data: data[:100], "CorruptImage", ""),
        (lambda data: data.replace(BASELINE, b"\xff\xc3\x00\x11\x08"), "UnsupportedImage", "SOF type"),
        (lambda data: data.replace(BASELINE, b"\xff\xc0\x00\x11\x0c"), "UnsupportedImage", "precision"),
    ],
)
def test_what_is_no_sound_jpeg_is_named(damage: Any, name: str, message: str) -> None:
    out = canvas()
    ((_, got, text),) = decode([[damage(jpeg(picture()))]], [SIZE], out)
    assert got == name
    assert message in text
    assert not out.any()


def test_scaled_decoding_is_asked_for_and_stays_close() -> None:
    data = jpeg(photo(3, width=400, height=300), subsampling=2)
    exact = pixels(data, (400, 300), (50, 40))
    for ratio in (0.0, math.inf, 8.0):
        assert np.array_equal(pixels(data, (400, 300), (50, 40), min_scale_ratio=ratio), exact)
    scaled = pixels(data, (400, 300), (50, 40), min_scale_ratio=2.0)
    assert not np.array_equal(scaled, exact)
    assert np.abs(scaled.astype(int) - exact).mean() < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slices": np.zeros((1, 2), np.int64)}, r"slices is \(1, 2\) int64, expected \(n, 3\) int64"),
        ({"slices": np.zeros((1, 3), np.int32)}, "slices is .* int32, expected int64"),
        ({"slices": np.array([[1, 0, 5]])}, r"slices\[0\] names buffer 1 of 1"),
        ({"slices": np.array([[0, 1, 2**63 - 1]])}, r"length 9223372036854775807, outside buffer 0"),
        ({"slices": np.array([[0, -1, 5]])}, r"slices\[0\] is offset -1"),
        ({"starts": np.array([0, 2])}, r"starts\[0\] and the next are 0 and 2, expected ascending"),
        ({"starts": np.array([0])}, r"starts is \(1,\) int64, expected \(2,\)"),
        ({"boxes": np.array([[0.0, 0, 98, 61]])}, r"boxes\[0\] is .* upright picture of 97 x 61"),
        ({"boxes": np.array([[0.0, 0, math.nan, 1]])}, r"boxes\[0\] is .* width nan"),
        ({"orientation": np.array([9], np.uint8)}, r"orientation\[0\] is 9, expected an EXIF"),
        ({"flip": np.array([1.0])}, "flip is .* float64, expected bool"),
        ({"sizes": np.array([[0, 61]])}, r"sizes\[0\] is 0 x 61"),
        ({"out": np.zeros((1, 2, 4, 4), np.uint8)}, "out is .* with 1 or 3 channels"),
        ({"out": np.zeros((1, 3, 4, 4), np.int16)}, "out is .* int16, expected .* uint8 or float32"),
        ({"out": np.broadcast_to(np.uint8(0), (1, 3, 4, 4))}, "out must be a writable array"),
        ({"out": np.zeros((1, 3, 4, 4), np.float32)}, "out is float32, so lut must give"),
        ({"lut": np.zeros((3, 256), np.float32)}, "out is uint8, so lut must be None"),
        ({"min_scale_ratio": 0.5}, "min_scale_ratio is 0.5"),
    ],
)  # fmt: skip
def test_wrong_arguments_say_what_is_wrong(change: dict[str, Any], message: str) -> None:
    data = jpeg(picture())
    arguments: dict[str, Any] = {
        "pool": POOL, "buffers": [data], "slices": np.array([[0, 0, len(data)]]), "starts": np.array([0, 1]),
        "boxes": np.array([[0.0, 0, *SIZE]]), "clip": True, "orientation": np.ones(1, np.uint8),
        "flip": np.zeros(1, bool), "sizes": np.array([SIZE]), "out": canvas(), "lut": None,
    }  # fmt: skip
    assert _native.decode(**arguments) == []
    with pytest.raises(ValueError, match=message):
        _native.decode(**{**arguments, **change})
