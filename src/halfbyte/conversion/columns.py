"""Typed columns from what a list says: cells of text, or values of Python and JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from halfbyte.errors import SourceError

__all__ = ["UNLABELLED", "check_field_name", "class_column", "type_cells", "value_column"]

# The class index of a sample without a label.
UNLABELLED = -1

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|NaN|[+-]?inf(inity)?")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT64 = range(-(1 << 63), 1 << 63)


def check_field_name(name: str, *, where: str) -> None:
    """Raise SourceError for a name that the data set needs for itself."""
    if not name or name == "image" or name.startswith("_"):
        raise SourceError(
            f"{where}: field {name!r}; 'image' is the picture itself, and names that are empty or begin with "
            "'_' are the format's own: rename the field"
        )


def type_cells(cells: Sequence[str]) -> list[Any]:
    """Cells of a text table as integers, floats or booleans if all fit, else as the text that they are.

    Empty cells of a typed column become None. Numbers with leading zeros stay text: they are names.
    """
    filled = {cell for cell in cells if cell != ""}
    if not filled:
        return list(cells)
    if all(_INTEGER.fullmatch(cell) for cell in filled) and all(int(cell) in _INT64 for cell in filled):
        return [int(cell) if cell else None for cell in cells]
    if all(_FLOAT.fullmatch(cell) for cell in filled):
        return [float(cell) if cell else None for cell in cells]
    if filled <= set(_BOOLEANS):
        return [_BOOLEANS.get(cell) for cell in cells]
    return list(cells)


def value_column(name: str, values: Sequence[Any], *, where: str) -> pa.Array:
    """Values as an Arrow column of one type; None where there is none.

    Raises:
        SourceError: their types do not go together.
    """
    try:
        column = pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError) as error:
        raise SourceError(
            f"{where}: field {name!r} has values of more than one type, or of one that has no column "
            f"({error}); give every row an integer, a float, a string, a boolean, or a list of one of these"
        ) from error
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def class_column(column: pa.Array) -> tuple[pa.Array, tuple[str, ...] | None]:
    """A column of class names as indices into the sorted names; other columns as they are.

    A missing name becomes ``UNLABELLED``.
    """
    if not pa.types.is_string(column.type):
        return column, None
    names = column.to_pylist()
    classes = tuple(sorted({name for name in names if name}))
    numbers = {name: number for number, name in enumerate(classes)}
    return pa.array([numbers.get(name, UNLABELLED) for name in names], pa.int64()), classes
