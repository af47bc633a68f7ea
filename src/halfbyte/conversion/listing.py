"""A list of images with their fields: rows in memory, .csv, .tsv, .jsonl or .ndjson."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from halfbyte.conversion.columns import check_field_name, class_column, type_cells, value_column
from halfbyte.conversion.sources import Row, Sources, path_key, probe
from halfbyte.errors import SourceError

__all__ = ["read_list_file", "read_rows"]

_PATH_FIELDS = ("path", "file_name")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")


def read_list_file(path: str) -> Sources:
    """The images that a list file names, with its other columns as fields.

    The first of ``path`` and ``file_name`` is the image, relative to the list. Strings in ``label`` become
    class indices. Columns of a .csv or .tsv are typed by their cells; JSON keeps its own types.

    Raises:
        SourceError: the list cannot be read; says where.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in (*_DELIMITERS, *_JSON_LINES):
        raise SourceError(
            f"{path}: is a file, but neither a .csv, .tsv, .jsonl nor .ndjson list; give a folder or such a "
            "list"
        )
    folder = os.path.dirname(os.path.abspath(path))
    try:
        if suffix in _JSON_LINES:
            return _assemble(list(_json_rows(path)), base=folder, where=path)
        return _assemble(_text_rows(path, _DELIMITERS[suffix]), base=folder, where=path)
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: is not UTF-8 text ({error}); save it as UTF-8") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); change its permissions") from error


def read_rows(rows: Iterable[Row]) -> Sources:
    """The images that rows in memory name; paths are relative to the working folder.

    Args:
        rows: paths, or mappings with a ``path`` (or ``file_name``) and further fields.

    Raises:
        SourceError: a row is something else; says which.
    """
    mappings: list[tuple[str, Mapping[str, Any]]] = []
    for number, row in enumerate(rows):
        if isinstance(row, str | os.PathLike):
            mappings.append((f"row {number}", {"path": row}))
        elif isinstance(row, Mapping):
            mappings.append((f"row {number}", row))
        else:
            raise SourceError(
                f"row {number} is {type(row).__name__}, expected a path or a mapping with 'path'; convert it "
                "to one"
            )
    return _assemble(mappings, base=os.getcwd(), where="list of images")


def _text_rows(path: str, delimiter: str) -> list[tuple[str, Mapping[str, Any]]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        try:
            lines = [(reader.line_num, cells) for cells in reader if cells]
        except csv.Error as error:
            raise SourceError(f"{path}: line {reader.line_num}: {error}; mend the line") from error
    if not lines:
        raise SourceError(f"{path}: is empty, expected a header with 'path'; give it one")
    header = lines[0][1]
    if len(set(header)) < len(header):
        raise SourceError(f"{path}: its header {header} names a column twice; rename one")
    for line, cells in lines[1:]:
        if len(cells) != len(header):
            raise SourceError(
                f"{path}: line {line} has {len(cells)} cells, its header {len(header)}; mend the line"
            )
    columns = [
        type_cells(cells) if name not in _PATH_FIELDS else cells
        for name, *cells in zip(header, *(cells for _, cells in lines[1:]), strict=True)
    ]
    values = zip(*columns, strict=True)
    return [
        (f"line {line}", dict(zip(header, row, strict=True)))
        for (line, _), row in zip(lines[1:], values, strict=True)
    ]


def _json_rows(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise SourceError(f"{path}: line {number} is no JSON ({error}); mend the line") from error
            if not isinstance(row, dict):
                raise SourceError(
                    f"{path}: line {number} holds {type(row).__name__}, expected an object such as "
                    f'{{"path": "a.jpg", "label": "cat"}}; mend the line'
                )
            yield f"line {number}", row


def _assemble(rows: Sequence[tuple[str, Mapping[str, Any]]], *, base: str, where: str) -> Sources:
    """Look at every file named, and turn the other values into columns."""
    paths = [os.path.join(base, _path_of(row, where=f"{where}: {at}")) for at, row in rows]
    root = _root(paths, base)
    keys = [path_key(os.path.relpath(path, root)) for path in paths]
    kept, sizes, mtimes, refused = [], [], [], []
    for number, path in enumerate(paths):
        status, reason = probe(path)
        if status is None:
            refused.append((keys[number], reason))
            continue
        kept.append(number)
        sizes.append(status.st_size)
        mtimes.append(status.st_mtime_ns)
    columns, classes = _columns([row for _, row in rows], where=where)
    chosen = pa.array(kept, pa.int64())
    return Sources(
        where=where,
        root="",
        paths=[paths[number] for number in kept],
        keys=[keys[number] for number in kept],
        sizes=np.array(sizes, np.int64),
        mtimes=np.array(mtimes, np.int64),
        columns={name: column.take(chosen) for name, column in columns.items()},
        classes=classes,
        refused=tuple(refused),
    )


def _path_of(row: Mapping[str, Any], *, where: str) -> str:
    name = _path_field(row)
    if name is None:
        raise SourceError(
            f"{where}: no 'path' or 'file_name' among {', '.join(map(repr, row)) or 'its columns'}; name the "
            "column of the images 'path'"
        )
    value = row[name]
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise SourceError(f"{where}: {name} is {value!r}, expected the path of an image; fill it in")
    return os.fsdecode(value)


def _path_field(row: Mapping[str, Any]) -> str | None:
    return next((name for name in _PATH_FIELDS if name in row), None)


def _root(paths: Sequence[str], base: str) -> str:
    """What all keys are relative to: ``base`` if all files are below it, else the closest folder above "
    "all."""
    folders = {os.path.dirname(os.path.normpath(path)) for path in paths}
    if not folders:
        return base
    common = os.path.commonpath(sorted(folders))
    return base if os.path.commonpath([common, base]) == base else common


def _columns(
    rows: Sequence[Mapping[str, Any]], *, where: str
) -> tuple[dict[str, pa.Array], tuple[str, ...] | None]:
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, pa.Array] = {}
    classes = None
    for name in names:
        if not isinstance(name, str):
            raise SourceError(
                f"{where}: field {name!r} is {type(name).__name__}, expected a string; rename the field"
            )
        if name in _PATH_FIELDS and any(name == _path_field(row) for row in rows):
            continue
        check_field_name(name, where=where)
        column = value_column(name, [row.get(name) for row in rows], where=where)
        columns[name], found = class_column(column) if name == "label" else (column, None)
        classes = found or classes
    return columns, classes
