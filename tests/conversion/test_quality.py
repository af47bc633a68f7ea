from __future__ import annotations

import os
from pathlib import Path

import pytest
from folders import picture, write_photos

from halfbyte._native import Limits
from halfbyte.conversion import convert, quality
from halfbyte.conversion.quality import measure_quality
from halfbyte.records.record_set import open_records
from halfbyte.storage.local import LocalStore
from photos import jpeg, photo


def test_quality_rises_to_one(tmp_path: Path) -> None:
    root = tmp_path / "in"
    root.mkdir()
    for number in range(3):
        (root / f"{number}.jpg").write_bytes(jpeg(photo(number, width=240, height=200)))
    found = convert(root, tmp_path / "out").quality
    assert found is not None
    assert found.samples == 3
    assert len(found.mean) == len(found.p10) == 10
    assert found.mean[-1] == found.p10[-1] == 1.0
    assert 0 < found.mean[0] < found.mean[4] < found.mean[9]
    assert all(low <= mean + 1e-9 for low, mean in zip(found.p10, found.mean, strict=True))


def test_images_of_one_colour_model_and_turned_ones_take_part(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["a.jpg"])
    (root / "grey.jpg").write_bytes(jpeg(photo(1, channels=1)))
    found = convert(root, tmp_path / "out").quality
    assert found is not None
    assert found.samples == 2


def test_data_set_without_progressive_images_has_no_quality(tmp_path: Path) -> None:
    root = tmp_path / "in"
    root.mkdir()
    (root / "a.png").write_bytes(picture("PNG"))
    assert convert(root, tmp_path / "out").quality is None


def test_quality_is_left_out_when_asked(photos: Path, tmp_path: Path) -> None:
    assert convert(photos, tmp_path / "out", quality=False).quality is None


def test_samples_are_spread_and_limited(photos: Path, tmp_path: Path) -> None:
    convert(photos, tmp_path / "out", record_bytes=30_000, quality=False)
    records = open_records(LocalStore(tmp_path / "out"))
    numbers = [number for number, _ in quality._spread(records)]
    assert len(numbers) == 48
    assert numbers == sorted(set(numbers))
    assert numbers[0] < 200 / 48
    assert numbers[-1] > 200 - 2 * 200 / 48
    again = [
        measure_quality(records, workers=workers, limits=Limits()) for workers in (1, os.cpu_count() or 2)
    ]
    assert again[0] == again[1]


def test_large_images_are_fewer_and_cut_to_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "_MAX_PIXELS", 100)
    samples = [(number, 400) for number in range(48)]
    assert [number for number, _ in quality._afford(samples)] == list(range(0, 48, 4))
    pixels = quality.np.arange(400, dtype=quality.np.uint8).reshape(20, 20, 1)
    middle = quality._middle(pixels)
    assert middle.shape == (10, 10, 1)
    assert middle[0, 0, 0] == pixels[5, 5, 0]
