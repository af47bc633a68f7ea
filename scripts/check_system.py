"""Say which system packages are missing before pip would fail without saying why."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path


def compiles(source: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe.cpp"
        path.write_text(source)
        command = ["g++", "-std=c++20", f"-I{sysconfig.get_path('include')}", "-fsyntax-only", str(path)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def missing() -> list[tuple[str, str]]:
    found = []
    if shutil.which("g++") is None:
        found.append(("a C++ compiler", "g++"))
    else:
        if not compiles("#include <cstdio>\n#include <jpeglib.h>\nint x = LIBJPEG_TURBO_VERSION_NUMBER;"):
            found.append(("libjpeg-turbo's headers", "libjpeg62-turbo-dev"))
        if not compiles("#include <Python.h>"):
            found.append(("Python's headers", "python3-dev"))
    if shutil.which("cmake") is None:
        found.append(("CMake", "cmake"))
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        found.append(("Python's venv module", "python3-venv"))
    return found


def main() -> int:
    absent = missing()
    for what, package in absent:
        print(f"missing: {what} ({package})")
    if absent:
        print(f"install with: apt-get install {' '.join(package for _, package in absent)}")
    return 1 if absent else 0


if __name__ == "__main__":
    raise SystemExit(main())
