"""Fixtures and settings that several parts share."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from photos import build_dataset

# A shell that starts the tests in the background has them ignore SIGINT, and Python leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no defect.
settings.register_profile("halfbyte", deadline=None)
settings.load_profile("halfbyte")


@pytest.fixture(scope="session")
def dataset_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six uneven records of small images; label i is sample i. Read-only."""
    return build_dataset(tmp_path_factory.mktemp("data") / "ds", [23, 9, 1, 0, 30, 17])
