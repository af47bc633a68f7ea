"""A virtual environment for each peer, made from the requirements at the top of its file."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

__all__ = ["make_environment", "requirements"]

_HERE = Path(__file__).parent
_METADATA = re.compile(r"^# /// script\n((?:#.*\n)*?)# ///$", re.MULTILINE)


def requirements(peer: Path) -> list[str]:
    """The dependencies that a script names at its top (inline script metadata, PEP 723)."""
    found = _METADATA.search(peer.read_text())
    if found is None:
        return []
    text = "\n".join(line.removeprefix("#").strip() for line in found[1].splitlines())
    named: list[str] = tomllib.loads(text)["dependencies"]
    return named


def make_environment(name: str, folder: Path) -> Path:
    """Make it, unless it is there already with these requirements; return its Python.

    halfbyte has none of its own: it is what runs this.

    Raises:
        RuntimeError: pip failed; the message ends with what it said.
    """
    if name.startswith("halfbyte"):
        return Path(sys.executable)
    wanted = "\n".join(requirements(_HERE / f"{name}.py"))
    home, python = folder / name, folder / name / "bin" / "python"
    done = home / "requirements.txt"
    if done.exists() and done.read_text() == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constraints = _HERE.parent.parent / "constraints.txt"
    ran = subprocess.run(
        [*install, "-c", constraints, *wanted.splitlines()], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise RuntimeError(f"pip install {' '.join(wanted.split())}: {_complaint(ran.stderr)}")
    done.write_text(wanted)
    return python


def _complaint(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"error|not find|missing|required", line, re.IGNORECASE)]
    return " / ".join((errors or lines)[-3:])
