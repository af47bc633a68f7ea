"""The worked example of docs/format.md: a record in hexadecimal, with what each part is."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from golden_parts import ENTRY_FIELDS, FIELDS, Parts, read_stream


def annotate(record: bytes) -> str:
    """Lines of offset, bytes and meaning that together hold every byte of the record."""
    return "\n".join(f"    {line}".rstrip() for line in _lines(record))


def _lines(record: bytes) -> Iterator[str]:
    parts = Parts.of(record)
    yield "; header"
    at = 0
    for name, code in FIELDS:
        at = yield from _value(record, at, name, code, parts.header[name])
    for number, entry in enumerate(parts.entries):
        yield f"; directory, entry {number}"
        for name, code in ENTRY_FIELDS:
            at = yield from _value(record, at, name, code, entry[name])
    rows = read_stream(parts.bodies[0]).to_pylist()
    yield "; sample table, an Arrow IPC stream of these rows:"
    for i, row in enumerate(rows):
        for name, value in row.items():
            yield f";   {name}[{i}] = {value!r}"
    at = yield from _dump(record, at, len(parts.bodies[0]))
    for k in range(1, len(parts.entries) - 1):
        for i, row in enumerate(rows):
            yield f"; level {k}, sample {i}"
            at = yield from _dump(record, at, row["_lengths"][k - 1])
    for i, row in enumerate(rows):
        for name in ("_metadata", "_trailing"):
            yield f"; extras, sample {i}, {name}"
            at = yield from _dump(record, at, row[name])


def _value(record: bytes, at: int, name: str, code: str, value: object) -> Iterator[str]:
    size = struct.calcsize("<" + code)
    said = name if isinstance(value, bytes) or name == "checksum" else f"{name} = {value}"
    yield f"{at:06x}  {record[at : at + size].hex():32}  ; {said}"
    return at + size  # type: ignore[return-value]


def _dump(record: bytes, at: int, size: int) -> Iterator[str]:
    for start in range(at, at + size, 32):
        yield f"{start:06x}  {record[start : min(start + 32, at + size)].hex(' ', -4)}"
    return at + size  # type: ignore[return-value]
