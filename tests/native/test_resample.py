"""Resampling of pictures in memory, against Pillow bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from decoding import resized
from halfbyte import _native

# From a stored to the upright picture, as EXIF counts them.
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def noise(width: int, height: int, channels: int, seed: int = 0) -> np.ndarray:
    """The hardest picture for an exact comparison."""
    shape = (height, width, channels)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def image_of(pixels: np.ndarray) -> Image.Image:
    return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)


def resample(pixels: np.ndarray, size: tuple[int, int], **options: Any) -> np.ndarray:
    """As (height, width, channels)."""
    height, width = pixels.shape[:2]
    options = {"box": (0, 0, width, height), "clip": False, "orientation": 1, "flip": False, **options}
    channels = options.pop("channels", pixels.shape[2])
    out = np.zeros((size[1], size[0], channels), np.uint8)
    _native.resample(pixels, out=out.transpose(2, 0, 1), **options)
    return out


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [(1, 1), (7, 90), (90, 7), (40, 30), (41, 29), (13, 11), (200, 100), (4, 3)])
def test_sizes_equal_pillow(size: tuple[int, int], channels: int) -> None:
    pixels = noise(40, 30, channels)
    expected = resized(image_of(pixels), size).reshape(size[1], size[0], channels)
    assert np.array_equal(resample(pixels, size), expected)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("grid", [1, 64])  # whole pixels; fractions that Pillow's single precision holds
def test_boxes_equal_pillow(grid: int, clip: bool) -> None:
    random = np.random.default_rng(grid)
    for seed in range(150):
        width, height, out_width, out_height = (int(v) for v in random.integers(1, 70, 4))
        pixels = noise(width, height, 3, seed)
        x, y = random.integers(0, width * grid) / grid, random.integers(0, height * grid) / grid
        x1 = random.integers(int(x * grid) + 1, width * grid + 1) / grid
        y1 = random.integers(int(y * grid) + 1, height * grid + 1) / grid
        ours = resample(pixels, (out_width, out_height), box=(x, y, x1 - x, y1 - y), clip=clip)
        image, left, top = image_of(pixels), int(x) if clip else 0, int(y) if clip else 0
        if clip:
            image = image.crop((left, top, int(np.ceil(x1)), int(np.ceil(y1))))
        expected = resized(image, (out_width, out_height), (x - left, y - top, x1 - left, y1 - top))
        assert np.array_equal(ours, expected)


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_costs_no_exactness(orientation: int, flip: bool) -> None:
    for seed, (size, box) in enumerate(
        [((17, 23), (3, 2, 20, 25)), ((50, 12), (0, 0, 24, 30)), ((24, 30), (0, 0, 24, 30))]
    ):
        stored = noise(30, 24, 3, seed) if orientation > 4 else noise(24, 30, 3, seed)
        image = image_of(stored)
        upright = image.transpose(UPRIGHT[orientation]) if orientation > 1 else image
        x, y, width, height = box
        expected = resized(upright, size, (x, y, x + width, y + height))
        ours = resample(stored, size, box=box, orientation=orientation, flip=flip)
        assert np.array_equal(ours, expected[:, ::-1] if flip else expected)


def test_one_call_of_pillow_differs_by_one_level_at_most() -> None:
    for size in [(40, 20), (300, 20), (20, 300), (50, 50)]:
        pixels = noise(100, 150, 3)
        direct = np.asarray(image_of(pixels).resize(size, Image.Resampling.BILINEAR))
        assert np.abs(resample(pixels, size).astype(int) - direct).max() <= 1


def test_resize_then_crop_is_a_box_that_is_not_clipped() -> None:
    pixels = noise(100, 75, 3)
    whole = resized(image_of(pixels), (341, 256))
    scale_x, scale_y = 100 / 341, 75 / 256
    ours = resample(pixels, (224, 200), box=(58 * scale_x, 20 * scale_y, 224 * scale_x, 200 * scale_y))
    assert np.abs(ours.astype(int) - whole[20:220, 58:282]).max() <= 1


def test_colour_models_are_converted() -> None:
    colour, gray = noise(30, 20, 3), noise(30, 20, 1)
    luma = resized(image_of(colour).convert("L"), (11, 9))
    assert np.array_equal(resample(colour, (11, 9), channels=1)[..., 0], luma)
    assert np.array_equal(resample(gray, (11, 9), channels=3), resample(gray, (11, 9)).repeat(3, axis=2))


def test_rows_may_be_apart_and_two_dimensions_are_grey() -> None:
    pixels = noise(30, 40, 3)
    every_other = pixels[::2, 4:21]
    expected = resized(image_of(np.ascontiguousarray(every_other)), (9, 9))
    assert np.array_equal(resample(every_other, (9, 9)), expected)
    out = np.zeros((1, 5, 5), np.uint8)
    _native.resample(pixels[..., 0].copy(), (0, 0, 30, 40), False, 1, False, out)
    assert np.array_equal(out[0], resized(Image.fromarray(pixels[..., 0].copy()), (5, 5)))


def test_a_float_destination_goes_through_the_table() -> None:
    pixels = noise(30, 40, 3)
    table = np.random.default_rng(0).normal(size=(3, 256)).astype(np.float32)
    out = np.zeros((3, 8, 9), np.float32)
    _native.resample(pixels, (0, 0, 30, 40), True, 1, True, out, table)
    indices = resample(pixels, (9, 8), flip=True)
    assert np.array_equal(out, np.stack([table[c][indices[..., c]] for c in range(3)]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pixels": np.zeros((4, 5, 2), np.uint8)}, r"pixels is \(4, 5, 2\) uint8, expected \(height"),
        ({"pixels": np.zeros((4, 5, 3), np.float32)}, "pixels is .* float32"),
        ({"pixels": np.zeros((4, 10, 3), np.uint8)[:, ::2]}, "rows that are not contiguous"),
        ({"pixels": np.zeros((0, 5, 3), np.uint8)}, "expected sides of 1 to"),
        ({"box": (0, 0, 5.1, 4)}, "box is .* within the upright picture of 5 x 4"),
        ({"box": (0, 0, 5, 0)}, "box is .* height 0"),
        ({"orientation": 6}, "box is .* within the upright picture of 4 x 5"),
        ({"orientation": 0}, "orientation is 0, expected an EXIF orientation of 1 to 8"),
        ({"out": np.zeros((4, 2, 2), np.uint8)}, "out is .* with 1 or 3 channels"),
        ({"lut": np.zeros((3, 9), np.float32), "out": np.zeros((3, 2, 2), np.float32)}, "lut is .*256"),
    ],
)  # fmt: skip
def test_wrong_arguments_say_what_is_wrong(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "pixels": noise(5, 4, 3), "box": (0, 0, 5, 4), "clip": True, "orientation": 1, "flip": False,
        "out": np.zeros((3, 2, 2), np.uint8),
    }  # fmt: skip
    _native.resample(**arguments)
    with pytest.raises(ValueError, match=message):
        _native.resample(**{**arguments, **change})
