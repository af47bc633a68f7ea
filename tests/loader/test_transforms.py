from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfbyte.loader.transforms import CenterCrop, Normalize, RandomResizedCrop, Transform, plan_views

TRAIN = Transform(RandomResizedCrop(224), flip=0.5)
IMAGENET = Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def plan(transform: Transform, samples: Any, *, seed: int = 7, epoch: int = 1) -> Any:
    count = np.size(samples)
    sizes = np.full(count, 500), np.full(count, 375)
    return plan_views(transform, *sizes, seed=seed, epoch=epoch, samples=samples)


@given(seed=st.integers(0, 2**64 - 1), epoch=st.integers(0, 1000), data=st.data())
@settings(deadline=None, max_examples=50)
def test_view_alone_equals_view_in_batch(seed: int, epoch: int, data: st.DataObject) -> None:
    sides = st.integers(1, 2000)
    images = data.draw(st.lists(st.tuples(sides, sides, st.integers(0, 10**9)), min_size=1, max_size=12))
    widths, heights, samples = (list(column) for column in zip(*images, strict=True))
    together = plan_views(TRAIN, widths, heights, seed=seed, epoch=epoch, samples=samples)
    for at, (width, height, sample) in enumerate(images):
        alone = plan_views(TRAIN, [width], [height], seed=seed, epoch=epoch, samples=[sample])
        assert (alone.boxes[0] == together.boxes[at]).all()
        assert alone.flip[0] == together.flip[at]


def test_views_are_pinned() -> None:
    # What a seed gives must never change; these numbers do not depend on the machine.
    views = plan_views(TRAIN, [500, 375, 64], [375, 500, 64], seed=7, epoch=1, samples=[0, 1, 2])
    assert views.boxes.tolist() == [[56, 5, 274, 240], [7, 77, 346, 309], [5, 2, 54, 59]]
    assert views.flip.tolist() == [False, False, True]


def test_seeds_epochs_and_samples_give_other_views() -> None:
    boxes = [plan(TRAIN, np.arange(50), seed=s, epoch=e).boxes for s in range(3) for e in range(3)]
    assert np.unique(np.concatenate(boxes), axis=0).shape[0] > 440


@pytest.mark.parametrize("probability", [0.0, 0.1, 0.5, 1.0])
def test_flips_have_the_asked_probability(probability: float) -> None:
    flips = plan(Transform(flip=probability), np.arange(40_000)).flip
    assert flips.dtype == np.bool_
    assert abs(flips.mean() - probability) <= 4 * np.sqrt(probability * (1 - probability) / 40_000)


def test_flips_do_not_depend_on_the_crop() -> None:
    crops = (None, CenterCrop(224), RandomResizedCrop(224))
    flips = [plan(Transform(crop, flip=0.5), np.arange(100)).flip.tolist() for crop in crops]
    assert flips[0] == flips[1] == flips[2]


def test_flips_tell_nothing_about_boxes() -> None:
    views = plan(TRAIN, np.arange(20_000))
    for column in views.boxes.T:
        assert abs(np.corrcoef(column, views.flip)[0, 1]) < 0.03


def test_no_crop_shows_the_whole_image() -> None:
    views = plan_views(Transform(), [5, 7], [3, 9], seed=0, epoch=0, samples=[0, 1])
    assert views.boxes.dtype == np.float64
    assert views.boxes.tolist() == [[0, 0, 5, 3], [0, 0, 7, 9]]
    assert views.out is None
    assert not views.flip.any()


def test_only_center_crop_looks_beyond_its_box() -> None:
    clips = [plan(Transform(crop), [0]).clip for crop in (None, RandomResizedCrop(8), CenterCrop(8))]
    assert clips == [True, True, False]


@pytest.mark.parametrize("crop", [RandomResizedCrop, CenterCrop])
def test_output_size_is_height_and_width(crop: Any) -> None:
    assert plan(Transform(crop(224)), [0]).out == (224, 224)
    assert plan(Transform(crop((32, 100))), [0]).out == (32, 100)


@pytest.mark.parametrize("crop", [None, CenterCrop(224, resize=256), RandomResizedCrop(224)])
def test_empty_batch_has_no_views(crop: Any) -> None:
    views = plan(Transform(crop), [])
    assert views.boxes.shape == (0, 4)
    assert views.flip.shape == (0,)


def test_table_normalizes_every_level() -> None:
    table = IMAGENET.table()
    assert table.dtype == np.float32
    assert table.shape == (3, 256)
    assert table[0, 0] == pytest.approx(-0.485 / 0.229)
    assert table[1, 255] == pytest.approx((1 - 0.456) / 0.224)
    assert table[2, 51] == pytest.approx((0.2 - 0.406) / 0.225)


def test_transforms_are_equal_and_hashable_values() -> None:
    first, second = (Transform(CenterCrop(224, resize=256), normalize=IMAGENET) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert first.channels == 3
    assert Transform(color="gray").channels == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"flip": 1.5}, r"flip is 1.5, expected a probability in \[0, 1\]"),
        ({"flip": float("nan")}, r"flip is nan, expected a probability"),
        ({"color": "bgr"}, r"color is 'bgr', expected one of \('rgb', 'gray'\)"),
        ({"layout": "NCHW"}, r"layout is 'NCHW', expected one of \('CHW', 'HWC'\)"),
        (
            {"color": "gray", "normalize": IMAGENET},
            r"normalize has 3 channels but color 'gray' has 1; pass 1",
        ),
        ({"normalize": Normalize((0.5,), (0.5,))}, r"normalize has 1 channels but color 'rgb' has 3; pass 3"),
    ],
)
def test_senseless_transforms_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"Transform: {message}"):
        Transform(**arguments)


@pytest.mark.parametrize(
    ("mean", "std", "message"),
    [
        (
            (0.5, 0.5, 0.5),
            (0.5,),
            r"3 means and 1 deviations, expected 3 of each for rgb or 1 of each for gray",
        ),
        ((0.5, 0.5), (0.5, 0.5), r"2 means and 2 deviations, expected 3"),
        ((0.5,), (0.0,), r"mean \(0.5,\), std \(0.0,\), expected finite numbers and std above 0"),
        ((float("inf"),), (0.5,), r"mean \(inf,\), .* expected finite numbers"),
    ],
)
def test_senseless_normalization_is_refused(mean: Any, std: Any, message: str) -> None:
    with pytest.raises(ValueError, match=rf"Normalize: {message}"):
        Normalize(mean, std)


def test_senseless_images_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1 widths, 2 heights and 1 samples, expected as many of each"):
        plan_views(TRAIN, [1], [1, 2], seed=0, epoch=0, samples=[0])
    with pytest.raises(ValueError, match=r"sample 9 is 0x4 pixels, expected at least 1x1; leave it out"):
        plan_views(TRAIN, [3, 0], [4, 4], seed=0, epoch=0, samples=[5, 9])
    with pytest.raises(TypeError, match=r"widths are float64, expected integers"):
        plan_views(TRAIN, [1.5], [1], seed=0, epoch=0, samples=[0])
    with pytest.raises(ValueError, match=r"seed is -1, expected an integer"):
        plan_views(TRAIN, [1], [1], seed=-1, epoch=0, samples=[0])
