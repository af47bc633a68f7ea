"""Data sets of tasks with known answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tuning_tasks import build, coloured, textured


@pytest.fixture(scope="session")
def textured_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """256 samples whose labels only high fidelities show. Read-only."""
    return build(tmp_path_factory.mktemp("tuning") / "textured", textured)


@pytest.fixture(scope="session")
def coloured_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """256 samples whose labels every fidelity shows. Read-only."""
    return build(tmp_path_factory.mktemp("tuning") / "coloured", coloured)
