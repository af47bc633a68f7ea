"""Fixtures that several parts share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from photos import build_dataset


@pytest.fixture(scope="session")
def dataset_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six uneven records of small images; label i is sample i. Read-only."""
    return build_dataset(tmp_path_factory.mktemp("data") / "ds", [23, 9, 1, 0, 30, 17])
