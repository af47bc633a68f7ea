"""Tests of the format use the tools that the golden files are made with."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))

# A busy machine is no defect.
settings.register_profile("halfbyte", deadline=None)
settings.load_profile("halfbyte")
