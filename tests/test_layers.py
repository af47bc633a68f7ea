"""Imports go one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "halfbyte"
RECORDS = [
    *(
        "errors",
        "trainers",
        "ranks",
        "keyed",
        "format",
        "codecs",
        "storage",
        "records",
        "conversion",
        "loader",
        "tuning",
    ),
    *(f"tuning.{layer}" for layer in ("reporting", "integrations", "face")),
]
ACTIVATIONS = [
    *("errors", "trainers", "ranks"),
    *(
        f"activations.{layer}"
        for layer in ("codecs", "policy", "engine", "feature_maps", "integrations", "face")
    ),
]
# What each layer may import: itself and what is left of it. The two chains meet in the command line only.
ALLOWED = {own: set(chain[: i + 1]) for chain in (RECORDS, ACTIVATIONS) for i, own in enumerate(chain)}
ALLOWED["cli"] = {*RECORDS, *ACTIVATIONS, "cli"}
# The native module may be used by all, testing by nobody.
TESTING = "testing"


def layer_of(parts: list[str]) -> str | None:
    """The layer of what follows `halfbyte.` in a module's name; None for names that are no layer."""
    if parts[0] == "tuning":
        inner = f"tuning.{parts[1]}" if len(parts) > 1 else "tuning.face"
        return inner if inner in RECORDS else "tuning"
    if parts[0] == "activations":
        inner = f"activations.{parts[1]}" if len(parts) > 1 else ""
        return inner if inner in ACTIVATIONS else "activations.face"
    return parts[0] if parts[0] in {*ALLOWED, TESTING} else None


def own_layer(path: Path) -> str | None:
    parts = list(path.relative_to(SOURCE).with_suffix("").parts)
    return layer_of(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            # `from halfbyte import errors` names a layer; `from halfbyte.activations import x` its public
            # face.
            yield from (
                [f"{module}.{alias.name}" for alias in node.names] if module == "halfbyte" else [module]
            )


def imported_layers(path: Path) -> set[str]:
    parts = [name.split(".") for name in imported_modules(path)]
    layers = {layer_of(p[1:]) for p in parts if p[0] == "halfbyte" and len(p) > 1}
    return {layer for layer in layers if layer is not None}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_left(path: Path) -> None:
    own = own_layer(path)
    if own == TESTING:
        return
    assert own in ALLOWED, f"{own} has no place in the order of layers"
    assert imported_layers(path) <= ALLOWED[own]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_is_imported_in_its_places_only(path: Path) -> None:
    homes = (
        *("activations/", "loader/torch/", "tuning/", "ranks.py"),
        *("cli/demo_train.py", "cli/demo_activations.py"),
    )
    uses = any(name.split(".")[0] in ("torch", "torchvision") for name in imported_modules(path))
    assert not uses or path.relative_to(SOURCE).as_posix().startswith(homes)


def test_import_brings_neither_torch_nor_pyarrow() -> None:
    code = "import sys, halfbyte; print(sorted({'torch', 'pyarrow', 'numpy'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_trainers_are_imported_with_their_callbacks_only() -> None:
    code = (
        "import sys, halfbyte.tuning, halfbyte.activations; "
        "print(sorted({'lightning', 'pytorch_lightning', 'transformers'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
