from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STUB = Path(__file__).parents[2] / "src" / "halfbyte" / "_native.pyi"


def test_stub_is_what_the_module_says(tmp_path: Path) -> None:
    fresh = tmp_path / "_native.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "halfbyte._native", "-o", str(fresh)]
    subprocess.run(command, check=True)
    assert fresh.read_text() == STUB.read_text(), "run `make stubs`"
