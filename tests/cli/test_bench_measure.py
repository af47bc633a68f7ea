"""Measurements of links and models whose figures are known: a busy machine makes them worse, never better."""

from __future__ import annotations

from pathlib import Path

import pytest

import halfbyte
from halfbyte.cli import bench_measure
from halfbyte.errors import HalfbyteError
from halfbyte.storage.local import LocalStore
from photos import sample, write_dataset

VIEW = halfbyte.Transform(halfbyte.CenterCrop(16))


def opened(path: Path, **link: float) -> halfbyte.Dataset:
    store = halfbyte.ThrottledStore(LocalStore(path), **link) if link else LocalStore(path)
    return halfbyte.open(store, transform=VIEW, on_error="skip")


def test_a_link_is_found(dataset_path: Path) -> None:
    link = bench_measure.link(opened(dataset_path, bandwidth=200_000.0, latency=0.02).records, 1.0)
    assert 10_000 < link.bandwidth.value < 202_000
    assert link.latency.value >= 0.02
    assert link.bandwidth.count >= 4


def test_requests_are_as_large_as_the_time_allows(dataset_path: Path) -> None:
    whole = bench_measure.link(opened(dataset_path).records, 0.5)
    assert whole.request_bytes == (dataset_path / "records" / "00004.pcr").stat().st_size


def test_every_fidelity_is_decoded(dataset_path: Path) -> None:
    figures = bench_measure.decoding(opened(dataset_path), 0.2, 1)
    assert sorted(figures) == list(range(1, 11))
    assert all(figure.value > 0 and figure.count >= 60 for figure in figures.values())


def test_images_that_cannot_be_decoded_are_no_measurement(tmp_path: Path) -> None:
    whole = sample(0)
    broken = type(whole)(**{**vars_of(whole), "slices": (b"none",) * len(whole.slices)})
    path = write_dataset(tmp_path / "ds", [[broken]])
    with pytest.raises(HalfbyteError, match="halfbyte verify"):
        bench_measure.decoding(opened(path), 0.1, 1)


def vars_of(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in type(value).__dataclass_fields__}


def test_a_model_that_is_slow_is_not_waited_for(dataset_path: Path) -> None:
    options = {"seconds": 0.5, "batch_size": 10, "threads": 1}
    trial = bench_measure.trial(opened(dataset_path), 10, step=0.01, **options)
    assert 0 < trial.images_per_s <= 100
    free = bench_measure.trial(opened(dataset_path), 10, step=None, **options)
    assert free.images_per_s > trial.images_per_s
    assert free.waiting > trial.waiting


def test_a_trial_cannot_begin_before_two_records_came(dataset_path: Path) -> None:
    dataset = opened(dataset_path)
    assert bench_measure.seconds_to_start(dataset, 10, 1000.0) == pytest.approx(
        2 * dataset.records.index.ends[:, 10].max() / 1000
    )
