from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import halfbyte
from halfbyte.errors import FidelityError
from halfbyte.loader.fidelity import describe_fidelity, fidelity_mix

VIEW = halfbyte.Transform(halfbyte.CenterCrop(16))


def test_mixture_is_drawn_by_its_weights() -> None:
    mix = fidelity_mix({2: 3.0, 5: 1.0}, 10)
    drawn = np.array([mix.choose(seed=1, epoch=e, record=r) for e in range(20) for r in range(100)])
    assert set(drawn.tolist()) == {2, 5}
    assert abs((drawn == 2).mean() - 0.75) < 0.03


def test_mixture_depends_on_epoch_and_record_only() -> None:
    mix = fidelity_mix({1: 1, 2: 1, 3: 1}, 3)
    one = [mix.choose(seed=7, epoch=2, record=r) for r in range(50)]
    assert one == [mix.choose(seed=7, epoch=2, record=r) for r in range(50)]
    assert one != [mix.choose(seed=7, epoch=3, record=r) for r in range(50)]
    assert one[:6] == [1, 1, 1, 3, 2, 1]  # must never change


def test_fidelity_reads_as_it_was_written() -> None:
    assert describe_fidelity(fidelity_mix(None, 6)) == 6
    assert describe_fidelity(fidelity_mix(4, 6)) == 4
    assert describe_fidelity(fidelity_mix({1: 1, 6: 3}, 6)) == {1: 0.25, 6: 0.75}


def test_weight_that_is_no_weight_is_refused() -> None:
    with pytest.raises(FidelityError, match="fidelity 2 has weight nan; give weights of 0 or more"):
        fidelity_mix({2: float("nan")}, 4)


def test_loader_reads_the_bytes_of_its_fidelity(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, transform=VIEW)
    for fidelity in (1, 5, 10):
        loader = halfbyte.Loader(ds, batch_size=8, fidelity=fidelity)
        list(loader)
        empty = int(ds.records.index.ends[3, fidelity])
        assert loader.counters.bytes_read == ds.bytes_at(fidelity) - empty
        assert loader.counters.reads == 5  # one a record; the empty one is never asked for


def test_new_fidelity_holds_from_the_next_record(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, transform=VIEW)
    options = {"batch_size": 1, "window": 1, "prefetch_bytes": 1, "shuffle": False}
    loader = halfbyte.Loader(ds, fidelity=10, **options)
    images = {}
    for batch in loader:
        images[int(batch["label"][0])] = batch["image"]
        loader.fidelity = 1
    for fidelity, labels in ((10, range(23)), (1, range(33, 80))):
        expected = {int(b["label"][0]): b["image"] for b in halfbyte.Loader(ds, fidelity=fidelity, **options)}
        assert all((images[label] == expected[label]).all() for label in labels)


def test_mixture_in_the_loader_is_per_record(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, transform=VIEW, fidelity={1: 1, 10: 1})
    loader = halfbyte.Loader(ds, batch_size=8)
    assert loader.fidelity == {1: 0.5, 10: 0.5}
    list(loader)
    assert ds.bytes_at(1) < loader.counters.bytes_read < ds.bytes_at(10)
