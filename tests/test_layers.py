"""Imports go one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "halfbyte"
ORDER = ["errors", "keyed", "format", "codecs", "storage", "records", "conversion", "loader", "cli"]
# Both are leaves of their own kind: the native module may be used by all, testing by nobody.
NATIVE, TESTING = "_native", "testing"


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_layers(path: Path) -> set[str]:
    parts = [name.split(".") for name in imported_modules(path)]
    names = {p[1] for p in parts if p[0] == "halfbyte" and len(p) > 1}
    return names & {*ORDER, TESTING}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_left(path: Path) -> None:
    own = layer_of(path)
    if own == TESTING:
        return
    assert own in ORDER, f"{own} has no place in the order of layers"
    allowed = set(ORDER[: ORDER.index(own) + 1])
    assert imported_layers(path) <= allowed


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_is_imported_in_its_places_only(path: Path) -> None:
    homes = ("loader/torch/", "cli/demo_train.py")
    uses = any(name.split(".")[0] in ("torch", "torchvision") for name in imported_modules(path))
    assert not uses or path.relative_to(SOURCE).as_posix().startswith(homes)


def test_import_brings_neither_torch_nor_pyarrow() -> None:
    code = "import sys, halfbyte; print(sorted({'torch', 'pyarrow', 'numpy'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
