"""The lowest fidelity that still looks like the original."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import halfbyte
from halfbyte.errors import FidelityError
from halfbyte.format.manifest import Quality
from halfbyte.tuning import StaticQuality

VIEW = halfbyte.Transform(halfbyte.CenterCrop(16))


def dataset(
    path: Path, *, mean: list[float] | None = None, p10: list[float] | None = None
) -> halfbyte.Dataset:
    """With qualities as given for the first fidelities, and 1 for the rest."""
    ds = halfbyte.open(path, transform=VIEW)
    fill = [1.0] * ds.num_levels
    mean, p10 = mean or [], p10 or []
    quality = Quality("ms-ssim", 48, (*mean, *fill[len(mean) :]), (*p10, *fill[len(p10) :]))
    ds.records.manifest = replace(ds.records.manifest, quality=quality)
    return ds


def chosen(ds: halfbyte.Dataset, policy: StaticQuality) -> int:
    loader = halfbyte.Loader(ds, batch_size=40, fidelity=policy)
    list(loader)
    list(loader)
    assert len(policy.log) == 1
    assert isinstance(loader.fidelity, int)
    return loader.fidelity


def test_nine_of_ten_images_reach_the_target(dataset_path: Path) -> None:
    ds = dataset(dataset_path, mean=[0.9, 0.96, 0.98, 0.99], p10=[0.8, 0.9, 0.949, 0.95])
    policy = StaticQuality(0.95)
    assert chosen(ds, policy) == 4
    assert str(policy.log[0]) == (
        "epoch 0, step 0: fidelity 4, since nine images of ten have MS-SSIM of 0.950 or more, and 0.95 is "
        "asked for"
    )
    assert policy.log[0].figures == {"ms_ssim": 0.95}


def test_the_mean_may_be_asked_for(dataset_path: Path) -> None:
    ds = dataset(dataset_path, mean=[0.9, 0.96, 0.98, 0.99], p10=[0.8, 0.9, 0.949, 0.95])
    assert chosen(ds, StaticQuality(0.95, over="mean")) == 2


def test_a_quality_that_falls_again_takes_the_first(dataset_path: Path) -> None:
    assert chosen(dataset(dataset_path, p10=[0.9, 0.97, 0.94]), StaticQuality(0.95)) == 2


def test_full_is_taken_where_nothing_else_does(dataset_path: Path) -> None:
    ds = dataset(dataset_path, p10=[0.9] * halfbyte.open(dataset_path).num_levels)
    policy = StaticQuality(0.99)
    assert chosen(ds, policy) == ds.num_levels
    assert "no lower one reaches MS-SSIM of 0.99" in policy.log[0].why


def test_a_data_set_without_measures_is_refused(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, transform=VIEW)
    ds.records.manifest = replace(ds.records.manifest, quality=None)
    with pytest.raises(FidelityError, match="convert it without --no-quality"):
        halfbyte.Loader(ds, batch_size=8, fidelity=StaticQuality())


@pytest.mark.parametrize("target", [0, -1, 1.01, float("nan")])
def test_targets_are_between_0_and_1(target: float) -> None:
    with pytest.raises(ValueError, match="target"):
        StaticQuality(target)


def test_only_two_statistics_are_known() -> None:
    with pytest.raises(ValueError, match="over='median'"):
        StaticQuality(over="median")  # type: ignore[arg-type]
