"""``halfbyte ls``: the samples of a data set, record by record."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfbyte.cli.options import DatasetPath, Debug, Json
from halfbyte.cli.screen import printable
from halfbyte.cli.sizes import format_bytes

if TYPE_CHECKING:
    from halfbyte.records.record_set import RecordSet

__all__ = ["ls"]

_LONGEST_CLASS = 24


def ls(
    path: DatasetPath,
    *,
    fidelity: Annotated[
        list[int] | None,
        typer.Option("--fidelity", "-f", help="Show bytes at this fidelity; may be given several times."),
    ] = None,
    start: Annotated[int, typer.Option(min=0, help="Number of the first sample.")] = 0,
    limit: Annotated[int | None, typer.Option(min=0, help="How many samples; all if left out.")] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """List samples: number, bytes at each fidelity asked for, codec, size in pixels, class, name.

    Reads the sample tables alone, one record after another. On a terminal there is a header, and bytes are
    rounded; in a pipe there is no header, columns are parted by tabs, and bytes are whole numbers.
    """
    from halfbyte.records.record_set import open_records
    from halfbyte.storage.local import LocalStore

    records = open_records(LocalStore(path))
    fidelities = list(dict.fromkeys(records.check_fidelity(k) for k in fidelity or (None,)))
    stop = len(records) if limit is None else min(len(records), start + limit)
    rows = _rows(records, fidelities, start, stop)
    if json:
        _write_json(rows)
    elif sys.stdout.isatty():
        _write_aligned(rows, fidelities)
    else:
        _write_tabs(rows)


@dataclass(frozen=True, slots=True)
class _Row:
    number: int
    key: str
    label: Any
    class_name: str | None
    width: int
    height: int
    codec: str
    source_bytes: int
    bytes: dict[int, int]

    @property
    def cells(self) -> tuple[str, str, str]:
        """Codec, size and class as people read them."""
        size = f"{self.width}x{self.height}" if self.width else "?"
        said = self.class_name if self.class_name is not None else self.label
        return self.codec, size, "-" if said is None else printable(str(said))

    def document(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "key": self.key,
            "label": self.label,
            "class": self.class_name,
            "width": self.width or None,
            "height": self.height or None,
            "codec": self.codec,
            "source_bytes": self.source_bytes,
            "bytes": {str(k): size for k, size in self.bytes.items()},
        }


def _rows(records: RecordSet, fidelities: Sequence[int], start: int, stop: int) -> Iterator[_Row]:
    from halfbyte.codecs.orientation import TURNED
    from halfbyte.format.sample_table import CODEC_NAMES

    classes = records.manifest.classes
    number = start
    while number < stop:
        record, first = records.locate(number)
        _, table = records.table(record)
        labels = table.fields.column("label").to_pylist() if "label" in table.fields.column_names else None
        keys = table.keys.to_pylist()
        turned = table.orientation >= TURNED
        for index in range(first, min(len(table), first + stop - number)):
            label = labels[index] if labels else None
            width, height = int(table.width[index]), int(table.height[index])
            yield _Row(
                number=number,
                key=keys[index],
                label=label,
                class_name=_class_name(classes, label),
                width=height if turned[index] else width,
                height=width if turned[index] else height,
                codec=CODEC_NAMES[int(table.codec[index])],
                source_bytes=int(table.source_bytes[index]),
                bytes={k: int(table.lengths[index, :k].sum()) for k in fidelities},
            )
            number += 1


def _class_name(classes: tuple[str, ...] | None, label: Any) -> str | None:
    return classes[label] if classes and isinstance(label, int) and 0 <= label < len(classes) else None


def _write_json(rows: Iterator[_Row]) -> None:
    """One document, written as it comes: there may be millions of samples."""
    sys.stdout.write('{"samples": [')
    for position, row in enumerate(rows):
        sys.stdout.write(",\n" if position else "\n")
        sys.stdout.write(json_module.dumps(row.document(), ensure_ascii=False, default=str))
    sys.stdout.write("\n]}\n")


def _write_tabs(rows: Iterator[_Row]) -> None:
    for row in rows:
        sizes = map(str, row.bytes.values())
        sys.stdout.write("\t".join((str(row.number), *sizes, *row.cells, printable(row.key))) + "\n")


def _write_aligned(rows: Iterator[_Row], fidelities: Sequence[int]) -> None:
    headers = [f"at {k}" for k in fidelities]
    widths: list[int] = []
    # A screenful decides how wide the columns are; later lines may be wider, none is held back.
    while chunk := list(islice(rows, 1000)):
        lines = [(str(r.number), *map(format_bytes, r.bytes.values()), *r.cells) for r in chunk]
        if not widths:
            titles = ("number", *headers, "codec", "size", "class")
            widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
            widths[-1] = min(widths[-1], _LONGEST_CLASS)
            sys.stdout.write(_align(titles, widths) + "  name\n")
        for row, line in zip(chunk, lines, strict=True):
            sys.stdout.write(f"{_align(line, widths)}  {printable(row.key)}\n")


def _align(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers to the right, the last three columns (words) to the left."""
    words = len(cells) - 3
    return "  ".join(
        cell.rjust(width) if position < words else cell.ljust(width)
        for position, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
