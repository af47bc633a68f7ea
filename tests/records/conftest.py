"""Tools of these tests lie beside them, those for damage beside the golden files."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "golden")]

# A busy machine is no defect.
settings.register_profile("halfbyte", deadline=None)
settings.load_profile("halfbyte")
