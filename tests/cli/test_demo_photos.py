from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from halfbyte.cli import demo_photos
from halfbyte.cli.demo_photos import (
    PHOTOS,
    TileOptions,
    cut_boxes,
    find_photos,
    region_grid,
    write_tiles,
)
from halfbyte.errors import HalfbyteError


@pytest.mark.parametrize("size", [(512, 512), (451, 300), (1411, 1411), (384, 303), (10, 7)])
def test_regions_are_disjoint_and_cover_the_photograph(size: tuple[int, int]) -> None:
    width, height = size
    train, test = region_grid(width, height, 170)
    assert train
    assert test
    covered = np.zeros((height, width), int)
    for left, top, right, bottom in train + test:
        covered[top:bottom, left:right] += 1
    assert covered.min() == covered.max() == 1
    assert len(test) < len(train)


def test_tiles_stay_within_their_regions() -> None:
    train, _ = region_grid(512, 400, 170)
    boxes = cut_boxes(train, 60, 0.5, np.random.default_rng(0))
    assert len(boxes) == 60
    for left, top, right, bottom in boxes:
        assert right - left == bottom - top > 60
        assert any(a <= left and b <= top and right <= c and bottom <= d for a, b, c, d in train)


def test_the_wheel_has_every_photograph() -> None:
    assert [path.name for path in find_photos()] == list(PHOTOS)


def test_missing_photographs_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_photos.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(HalfbyteError, match=r"finds 0 of them; pip install 'halfbyte\[demo\]', or .* --data"):
        find_photos()


def test_tiles_are_written_as_an_image_folder(tmp_path: Path) -> None:
    options = TileOptions(train=3, test=2, side=32)
    for folder in ("one", "two"):
        write_tiles(find_photos()[:2], tmp_path / folder, options, seed=1)
    files = sorted(str(p.relative_to(tmp_path / "one")) for p in (tmp_path / "one").rglob("*.jpg"))
    assert len(files) == 2 * (3 + 2)
    assert files[0] == "test/astronaut/000.jpg"
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    with Image.open(tmp_path / "one" / files[0]) as image:
        assert (image.format, image.size) == ("JPEG", (32, 32))
