"""Pictures decoded whole, cropped, turned and resized, against Pillow and simplejpeg.

Theirs is the same library at the same settings, so at full fidelity pixels are equal, not close.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import simplejpeg
from PIL import Image, ImageOps

from decoding import decode, pixels, resized
from halfbyte import _native
from halfbyte.codecs.jpeg import encode_jpeg
from halfbyte.codecs.scan_script import ScanScript
from photos import jpeg, photo

FULL_CASES = [
    ("L", None), ("RGB", 0), ("RGB", 1), ("RGB", 2), ("CMYK", 0), ("CMYK", 2),
]  # fmt: skip


def photo_of(width: int, height: int) -> Image.Image:
    """A photograph of this size with a hard edge in it."""
    image = photo(0, width=width, height=height)
    image.paste((200, 30, 60), (width // 4, height // 3, width // 2, height // 2))
    return image


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize(("mode", "subsampling"), FULL_CASES)
def test_full_pictures_equal_pillow(mode: str, subsampling: int | None, progressive: bool) -> None:
    for width, height in [(97, 61), (1, 1), (16, 16), (3, 40)]:
        options = {} if subsampling is None else {"subsampling": subsampling}
        data = jpeg(photo_of(width, height).convert(mode), progressive=progressive, **options)
        expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        assert np.array_equal(pixels(data, (width, height), (width, height)), expected)


def test_full_pictures_equal_simplejpeg() -> None:
    data = jpeg(photo_of(120, 77), subsampling=2)
    assert np.array_equal(pixels(data, (120, 77), (120, 77)), simplejpeg.decode_jpeg(data))


@pytest.mark.parametrize("transform", [0, 2])
def test_cmyk_and_ycck_equal_pillow_without_adobe_marker_too(transform: int) -> None:
    data = bytearray(jpeg(photo_of(50, 40).convert("CMYK")))
    at = data.index(b"Adobe")
    data[at + 11] = transform
    plain = bytes(data[: at - 4] + data[at + 12 :])
    for variant in (bytes(data), plain):
        expected = Image.open(io.BytesIO(variant))
        assert np.array_equal(pixels(variant, (50, 40), (50, 40)), np.asarray(expected.convert("RGB")))


@pytest.mark.parametrize("restart", [0, 3])
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize(("mode", "subsampling"), FULL_CASES)
def test_crops_equal_the_full_picture(
    mode: str, subsampling: int | None, progressive: bool, restart: int
) -> None:
    random = np.random.default_rng(1)
    options = {} if subsampling is None else {"subsampling": subsampling}
    image = photo_of(151, 118).convert(mode)
    data = jpeg(image, progressive=progressive, restart_marker_blocks=restart, **options)
    full = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    for _ in range(40):
        x, y = random.integers(0, 151), random.integers(0, 118)
        width, height = random.integers(1, 152 - x), random.integers(1, 119 - y)
        crop = pixels(data, image.size, (width, height), boxes=[(x, y, width, height)])
        assert np.array_equal(crop, full[y : y + height, x : x + width])


@pytest.mark.parametrize("sampling", ["444", "422", "420", "440", "411"])
@pytest.mark.parametrize("scale", [1, 2, 4, 8])
def test_crops_of_scaled_pictures_are_cut_from_the_whole(sampling: str, scale: int) -> None:
    image = np.asarray(photo_of(192, 160))
    data = simplejpeg.encode_jpeg(image, 90, colorsubsampling=sampling)
    whole = pixels(data, (192, 160), (192 // scale, 160 // scale), min_scale_ratio=1.0)
    random = np.random.default_rng(scale)
    for _ in range(20):
        x, y = random.integers(0, 192 // scale), random.integers(0, 160 // scale)
        width, height = random.integers(1, 192 // scale - x + 1), random.integers(1, 160 // scale - y + 1)
        box = (x * scale, y * scale, width * scale, height * scale)
        crop = pixels(data, (192, 160), (width, height), boxes=[box], min_scale_ratio=1.0)
        assert np.array_equal(crop, whole[y : y + height, x : x + width])


@pytest.mark.parametrize("clip", [True, False])
def test_resized_crops_equal_pillow(clip: bool) -> None:
    random = np.random.default_rng(2)
    data = jpeg(photo_of(160, 120), subsampling=2)
    image = Image.open(io.BytesIO(data))
    for _ in range(60):
        x, y = int(random.integers(0, 150)), int(random.integers(0, 110))
        x1, y1 = int(random.integers(x + 1, 161)), int(random.integers(y + 1, 121))
        size = (int(random.integers(1, 200)), int(random.integers(1, 200)))
        ours = pixels(data, image.size, size, boxes=[(x, y, x1 - x, y1 - y)], clip=clip)
        expected = resized(image.crop((x, y, x1, y1)), size) if clip else resized(image, size, (x, y, x1, y1))
        assert np.array_equal(ours, expected)
        direct = image.crop((x, y, x1, y1)).resize(size, Image.Resampling.BILINEAR) if clip else expected
        assert np.abs(ours.astype(int) - np.asarray(direct)).max() <= 1


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientations_equal_exif_transpose(orientation: int, flip: bool) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = jpeg(photo_of(90, 70), subsampling=2, exif=exif)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    box, size = (11, 5, 50, 60), (31, 47)
    crop = upright.crop((box[0], box[1], box[0] + box[2], box[1] + box[3]))
    expected = resized(crop, size)[:, ::-1] if flip else resized(crop, size)
    ours = pixels(data, (90, 70), size, boxes=[box], orientation=orientation, flip=flip)
    assert np.array_equal(ours, expected)
    whole = pixels(data, (90, 70), upright.size, orientation=orientation, flip=flip)
    assert np.array_equal(whole, np.asarray(upright)[:, ::-1] if flip else np.asarray(upright))


def test_grey_is_the_y_plane() -> None:
    data = jpeg(photo_of(64, 50), subsampling=2)
    image = Image.open(io.BytesIO(data))
    image.draft("L", image.size)
    assert np.array_equal(pixels(data, (64, 50), (64, 50), channels=1)[..., 0], np.asarray(image))


@pytest.mark.parametrize("options", [{"mode": "CMYK"}, {"mode": "RGB", "keep_rgb": True}])
def test_grey_without_a_y_plane_is_luma(options: dict[str, Any]) -> None:
    data = jpeg(photo_of(64, 50).convert(options.pop("mode")), **options)
    expected = Image.open(io.BytesIO(data)).convert("RGB").convert("L")
    assert np.array_equal(pixels(data, (64, 50), (64, 50), channels=1)[..., 0], np.asarray(expected))


@pytest.mark.parametrize("channels", [1, 3])
def test_layout_is_nothing_but_strides(channels: int) -> None:
    data, size = jpeg(photo_of(60, 44)), (20, 30)
    expected = pixels(data, (60, 44), size, channels=channels).transpose(2, 0, 1)
    layouts: list[Callable[[], np.ndarray]] = [
        lambda: np.zeros((1, channels, 30, 20), np.uint8),
        lambda: np.zeros((1, 30, 20, channels), np.uint8).transpose(0, 3, 1, 2),
        lambda: np.zeros((30, 1, 20, channels), np.uint8).transpose(1, 3, 0, 2),
        lambda: np.zeros((1, channels, 30, 20), np.uint8)[:, ::-1, ::-1, ::-1],
        lambda: np.zeros((1, channels, 60, 80), np.uint8)[:, :, ::2, ::4],
    ]
    for make in layouts:
        out = make()
        assert decode([[data]], [(60, 44)], out) == []
        assert np.array_equal(out[0], expected)


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_float_output_goes_through_the_table(mode: str) -> None:
    data = jpeg(photo_of(60, 44).convert(mode))
    table = np.random.default_rng(3).normal(size=(3, 256)).astype(np.float32)
    indices = pixels(data, (60, 44), (25, 17)).transpose(2, 0, 1)
    expected = np.take_along_axis(table, indices.reshape(3, -1).astype(int), axis=1).reshape(indices.shape)
    for out in (
        np.zeros((1, 3, 17, 25), np.float32),
        np.zeros((1, 17, 25, 3), np.float32).transpose(0, 3, 1, 2),
    ):
        assert decode([[data]], [(60, 44)], out, lut=table) == []
        assert np.array_equal(out[0], expected)


@pytest.mark.parametrize("isa", _native.instruction_sets())
@pytest.mark.parametrize("script", ["standard", "spectral", "fine"])
def test_all_instruction_sets_read_the_same_scans(isa: str, script: str) -> None:
    data = jpeg(photo_of(210, 133), quality=96, subsampling=2)
    stream = b"".join(encode_jpeg(data, key="", script=ScanScript.preset(script)).slices)
    present = _native.instruction_set()
    _native.set_instruction_set(isa)
    try:
        found = pixels(stream, (210, 133), (210, 133))
    finally:
        _native.set_instruction_set(present)
    assert np.array_equal(found, np.asarray(Image.open(io.BytesIO(data))))
