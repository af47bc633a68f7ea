"""Folders of small images."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import write_photos


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 small photos in four classes. Read-only."""
    names = [f"{name}/{i:03d}.jpg" for name in ("ant", "bee", "cat", "dog") for i in range(50)]
    return write_photos(tmp_path_factory.mktemp("source") / "photos", names)
