"""A record taken apart into numbers and bytes, changed, and put together again with checksums that fit."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import xxhash

FIELDS = (
    ("magic", "8s"),
    ("version", "H"),
    ("fixed_bytes", "H"),
    ("flags", "I"),
    ("num_samples", "Q"),
    ("num_levels", "I"),
    ("num_sections", "I"),
    ("file_bytes", "Q"),
    ("dataset_id", "16s"),
    ("checksum", "Q"),
)
ENTRY_FIELDS = (
    ("kind", "H"),
    ("level", "H"),
    ("reserved", "I"),
    ("offset", "Q"),
    ("length", "Q"),
    ("preamble", "Q"),
    ("checksum", "Q"),
)
_HEADER = struct.Struct("<" + "".join(code for _, code in FIELDS))
_ENTRY = struct.Struct("<" + "".join(code for _, code in ENTRY_FIELDS))


def xxh3(data: bytes) -> int:
    return xxhash.xxh3_64_intdigest(data)


@dataclass
class Parts:
    """Header and entries as dicts, and the sections' bytes; nothing here is checked."""

    header: dict[str, Any]
    entries: list[dict[str, Any]]
    bodies: list[bytes] = field(default_factory=list)

    @classmethod
    def of(cls, record: bytes) -> Parts:
        names = [name for name, _ in FIELDS]
        header = dict(zip(names, _HEADER.unpack_from(record), strict=True))
        parts = cls(header, [])
        for i in range(header["num_sections"]):
            names = [name for name, _ in ENTRY_FIELDS]
            entry = dict(zip(names, _ENTRY.unpack_from(record, 64 + 40 * i), strict=True))
            parts.entries.append(entry)
            parts.bodies.append(record[entry["offset"] : entry["offset"] + entry["length"]])
        return parts

    def lay_out(self) -> Parts:
        """Offsets, lengths, section checksums and file_bytes from the bodies."""
        at = 64 + 40 * len(self.entries)
        for entry, body in zip(self.entries, self.bodies, strict=True):
            entry.update(offset=at, length=len(body), checksum=xxh3(body))
            at += len(body)
        self.header["file_bytes"] = at
        return self

    def signed(self) -> bytes:
        """The record, with the header's checksum made right and the rest as it is."""
        directory = b"".join(_ENTRY.pack(*entry.values()) for entry in self.entries)
        head = _HEADER.pack(*{**self.header, "checksum": 0}.values())[:-8]
        checksum = struct.pack("<Q", xxh3(head + directory))
        return head + checksum + directory + b"".join(self.bodies)


def read_stream(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()


def write_stream(table: pa.Table, *, compression: str | None = None, batches: int = 1) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
        stream.write_table(table, max_chunksize=-(-table.num_rows // batches) or None)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def with_table(record: bytes, change: Callable[[pa.Table], pa.Table], **how: Any) -> bytes:
    """The record with another sample table, everything signed again."""
    parts = Parts.of(record)
    parts.bodies[0] = write_stream(change(read_stream(parts.bodies[0])), **how)
    return parts.lay_out().signed()


def with_column(name: str, values: Any, kind: pa.DataType | None = None) -> Callable[[pa.Table], pa.Table]:
    """A change that sets or appends a column."""

    def change(table: pa.Table) -> pa.Table:
        index = table.schema.get_field_index(name)
        wanted = kind or table.schema.field(index).type
        array = values if isinstance(values, pa.Array) else pa.array(values, wanted)
        if index < 0:
            return table.append_column(pa.field(name, array.type), array)
        return table.set_column(index, pa.field(name, array.type), array)

    return change


def with_cell(name: str, row: int, value: Any) -> Callable[[pa.Table], pa.Table]:
    """A change of one value."""

    def change(table: pa.Table) -> pa.Table:
        values = table.column(name).to_pylist()
        values[row] = value
        return with_column(name, values)(table)

    return change


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


def sign_manifest(text: bytes) -> bytes:
    """dataset.json with its own checksum made right."""
    digits = f"{xxh3(text[:-20] + b'0' * 16 + text[-4:]):016x}".encode()
    return text[:-20] + digits + text[-4:]
