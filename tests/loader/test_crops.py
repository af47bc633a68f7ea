from __future__ import annotations

import functools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from halfbyte.keyed.hashes import derive_keys, keyed_uniforms
from halfbyte.loader.crops import CenterCrop, RandomResizedCrop

Boxes = NDArray[np.float64]

SIDE = st.integers(1, 4000)
NUM_DRAWN = 20_000
# Usual sizes, a tiny one, and panoramas where some or all attempts fail.
IMAGES = [(500, 375), (348, 348), (375, 500), (7, 5), (900, 300), (60, 1000), (2000, 3)]
WIDE = RandomResizedCrop(224, scale=(0.5, 0.9), ratio=(1.0, 3.0))


def reference_box(crop: RandomResizedCrop, width: int, height: int) -> tuple[int, int, int, int]:
    """The distribution of torchvision's RandomResizedCrop, written plainly: x, y, width, height."""
    narrowest, widest = crop.ratio
    for _ in range(10):
        area = width * height * random.uniform(*crop.scale)
        ratio = math.exp(random.uniform(math.log(narrowest), math.log(widest)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    w, h = width, height
    if width / height < narrowest:
        h = round(width / narrowest)
    elif width / height > widest:
        w = round(height * widest)
    return (width - w) // 2, (height - h) // 2, w, h


@functools.cache
def drawn_boxes(crop: RandomResizedCrop, width: int, height: int) -> Boxes:
    draws = keyed_uniforms(derive_keys(1, width, height, np.arange(NUM_DRAWN)), crop.draws)
    return crop.boxes(np.full(NUM_DRAWN, width), np.full(NUM_DRAWN, height), draws)


@functools.cache
def reference_boxes(crop: RandomResizedCrop, width: int, height: int) -> Boxes:
    random.seed(1)
    return np.array([reference_box(crop, width, height) for _ in range(NUM_DRAWN)], dtype=float)


def features(boxes: Boxes) -> dict[str, Boxes]:
    x, y, w, h = boxes.T
    sides = {"x": x, "y": y, "width": w, "height": h}
    return sides | {"area": w * h, "ratio": w / h, "right": x + w, "bottom": y + h, "x + y": x + y}


@pytest.mark.parametrize(("width", "height"), IMAGES)
@pytest.mark.parametrize("crop", [RandomResizedCrop(224), WIDE], ids=["usual", "wide"])
def test_random_boxes_follow_torchvision(crop: RandomResizedCrop, width: int, height: int) -> None:
    drawn = features(drawn_boxes(crop, width, height))
    expected = features(reference_boxes(crop, width, height))
    for name, values in drawn.items():
        assert stats.ks_2samp(values, expected[name]).pvalue > 1e-3, name


@pytest.mark.parametrize(("width", "height"), IMAGES)
def test_random_boxes_are_whole_and_inside(width: int, height: int) -> None:
    boxes = drawn_boxes(RandomResizedCrop(224), width, height)
    assert (boxes == np.rint(boxes)).all()
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] >= 1).all()
    assert (boxes[:, :2] + boxes[:, 2:] <= [width, height]).all()


@pytest.mark.parametrize(
    ("width", "height", "box"),
    [(2000, 3, [998, 0, 4, 3]), (3, 2000, [0, 998, 3, 4]), (10_000, 30, [4980, 0, 40, 30])],
)
def test_panorama_falls_back_to_its_centre(width: int, height: int, box: list[int]) -> None:
    crop = RandomResizedCrop(224, scale=(0.9, 1.0))
    assert (drawn_boxes(crop, width, height) == box).all()


@given(
    width=SIDE,
    height=SIDE,
    scale=st.tuples(st.floats(1e-6, 1), st.floats(1e-6, 1)).map(sorted).map(tuple),
    ratio=st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)).map(sorted).map(tuple),
)
@settings(deadline=None, max_examples=150)
def test_any_random_box_is_inside(
    width: int, height: int, scale: tuple[float, float], ratio: tuple[float, float]
) -> None:
    crop = RandomResizedCrop(8, scale=scale, ratio=ratio)
    draws = keyed_uniforms(derive_keys(1, np.arange(50)), crop.draws)
    draws[0], draws[1] = 0, 1 - 2**-53  # the ends of what can be drawn
    boxes = crop.boxes(np.full(50, width), np.full(50, height), draws)
    assert (boxes == np.rint(boxes)).all()
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] >= 1).all()
    assert (boxes[:, :2] + boxes[:, 2:] <= [width, height]).all()


def center_box(crop: CenterCrop, width: int, height: int) -> list[float]:
    return list(crop.boxes(np.array([width]), np.array([height]), np.empty((1, 0)))[0])


def torchvision_box(size: tuple[int, int], resized: tuple[int, int], image: tuple[int, int]) -> list[float]:
    """Where torchvision's CenterCrop of (height, width) lies in the resized image, in the image's pixels."""
    (crop_h, crop_w), (resized_w, resized_h), (width, height) = size, resized, image
    top, left = round((resized_h - crop_h) / 2.0), round((resized_w - crop_w) / 2.0)
    scale_x, scale_y = width / resized_w, height / resized_h
    return [left * scale_x, top * scale_y, crop_w * scale_x, crop_h * scale_y]


@given(
    width=SIDE, height=SIDE, crop_h=st.integers(1, 300), crop_w=st.integers(1, 300), more=st.integers(0, 99)
)
@settings(deadline=None, max_examples=300)
def test_center_crop_equals_torchvision(width: int, height: int, crop_h: int, crop_w: int, more: int) -> None:
    resize = max(crop_h, crop_w) + more
    short, long = sorted((width, height))
    new_long = int(resize * long / short)
    resized = (resize, new_long) if width <= height else (new_long, resize)
    box = center_box(CenterCrop((crop_h, crop_w), resize=resize), width, height)
    assert box == pytest.approx(torchvision_box((crop_h, crop_w), resized, (width, height)), rel=1e-12)


@given(side=st.integers(1, 300), width=st.integers(300, 4000), height=st.integers(300, 4000))
@settings(deadline=None, max_examples=150)
def test_center_crop_without_resize_keeps_pixels(side: int, width: int, height: int) -> None:
    box = center_box(CenterCrop(side), width, height)
    assert box == torchvision_box((side, side), (width, height), (width, height))
    assert box == [round(value) for value in box]


def test_image_smaller_than_center_crop_is_scaled_up() -> None:
    assert center_box(CenterCrop(224), 112, 200) == [0.0, 44.0, 112.0, 112.0]
    assert center_box(CenterCrop((100, 300)), 150, 150) == [0.0, 50.0, 150.0, 50.0]
    assert center_box(CenterCrop(224), 1, 1) == [0.0, 0.0, 1.0, 1.0]
    # The height fits; only the width decides, and the proportions stay.
    assert center_box(CenterCrop(224), 200, 1000) == pytest.approx([0, 448 / 1.12, 200, 200])


@given(
    width=SIDE,
    height=SIDE,
    size=st.tuples(st.integers(1, 500), st.integers(1, 500)),
    resize=st.none() | st.integers(500, 700),
)
@settings(deadline=None, max_examples=400)
def test_any_center_box_is_inside(width: int, height: int, size: tuple[int, int], resize: int | None) -> None:
    x, y, w, h = center_box(CenterCrop(size, resize=resize), width, height)
    assert x >= 0
    assert y >= 0
    assert w > 0
    assert h > 0
    assert x + w <= width
    assert y + h <= height


@pytest.mark.parametrize("size", [0, -1, 1.5, True, (224,), (224, 0), [224, 224], None])
@pytest.mark.parametrize("crop", [RandomResizedCrop, CenterCrop])
def test_senseless_sizes_are_refused(crop: type, size: object) -> None:
    with pytest.raises(ValueError, match=rf"{crop.__name__}: size is .*, expected pixels above 0; pass one"):
        crop(size)


@pytest.mark.parametrize("scale", [(0, 1), (0.5, 0.4), (0.5, 1.1), (-1, 1), (math.nan, 1)])
def test_senseless_scales_are_refused(scale: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"scale is \(.*\), expected 0 < low <= high <= 1; leave scale out"):
        RandomResizedCrop(224, scale=scale)


@pytest.mark.parametrize("ratio", [(0, 1), (2, 1), (1, math.inf), (1, math.nan)])
def test_senseless_ratios_are_refused(ratio: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"ratio is \(.*\), expected 0 < low <= high; leave ratio out"):
        RandomResizedCrop(224, ratio=ratio)


def test_center_crop_larger_than_resize_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"resize is 200, expected at least 224, the crop's long side; .* 256"
    ):
        CenterCrop((100, 224), resize=200)
