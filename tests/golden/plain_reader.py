"""A reader of the format, written from docs/format.md alone: it shares no code with the library.

Slow and plain on purpose. Section numbers are those of the page.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import xxhash

MAGIC = bytes.fromhex("89504352 0d0a1a0a")
JPEG_MAX_SIDE = 65535


class Corrupt(Exception):
    pass


class Unsupported(Exception):
    pass


class NeedMore(Exception):
    def __init__(self, have: int, need: int) -> None:
        super().__init__(f"have {have}, need {need}")
        self.have, self.need = have, need


@dataclass
class Sample:
    key: str
    codec: int
    width: int
    height: int
    orientation: int
    source_bytes: int
    slices: list[bytes]
    fields: dict[str, Any]
    metadata: bytes = b""
    trailing: bytes = b""

    def file(self) -> bytes:
        """Section 11: what any decoder opens."""
        return self.slices[0] if self.codec == 0 else b"".join(self.slices) + b"\xff\xd9"

    def restored(self) -> bytes:
        """Section 11: the source's picture, metadata and tail."""
        if self.codec == 0:
            return self.slices[0]
        out, joined, at = b"\xff\xd8" + self.metadata, self.file(), 2
        # APPn and COM segments stand before the first scan only: so says the page.
        while joined[at + 1] != 0xDA:
            end = at + 2 + int.from_bytes(joined[at + 2 : at + 4], "big")
            if not self.metadata or joined[at + 1] not in (*range(0xE0, 0xF0), 0xFE):
                out += joined[at:end]
            at = end
        return out + joined[at:] + self.trailing


@dataclass
class Section:
    kind: int
    level: int
    offset: int
    length: int
    preamble: int
    checksum: int

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass
class Head:
    num_samples: int
    dataset_id: bytes
    checksum: int
    sections: list[Section]


def must(true: bool, otherwise: str, error: type[Exception] = Corrupt) -> None:
    if not true:
        raise error(otherwise)


def xxh3(data: bytes) -> int:
    return xxhash.xxh3_64_intdigest(data, seed=0)


def read_head(data: bytes) -> Head:
    """Sections 2, 3 and 7."""
    must(data[:8] == MAGIC[: len(data)], "magic")
    if len(data) < 64:
        raise NeedMore(len(data), 64)
    version, fixed, flags, samples, levels, count, file_bytes = struct.unpack_from("<HHIQIIQ", data, 8)
    (checksum,) = struct.unpack_from("<Q", data, 56)
    if version != 1:
        mended = data[:8] + b"\1\0" + data[10:56] + data[64 : 64 + 40 * (min(levels, 64) + 2)]
        must(version > 1 and xxh3(mended) != checksum, "version")
        raise Unsupported("version")
    must(fixed == 64, "fixed_bytes")
    must(1 <= levels <= 64 and count == levels + 2, "levels")
    must(samples <= 2**24, "samples")
    directory_end = 64 + 40 * (levels + 2)
    must(directory_end <= file_bytes, "file_bytes")
    if len(data) < directory_end:
        raise NeedMore(len(data), directory_end)
    must(xxh3(data[:56] + data[64:directory_end]) == checksum, "header checksum")
    must(flags == 0, "flags", Unsupported)
    sections, expected = [], directory_end
    for i in range(count):
        kind, level, reserved, *rest = struct.unpack_from("<HHIQQQQ", data, 64 + 40 * i)
        section = Section(kind, level, *rest)
        must((kind, level) == ((1, 0) if i == 0 else (3, 0) if i == count - 1 else (2, i)), "kind")
        must(reserved == 0 and section.offset == expected, "reserved or offset")
        must(section.preamble <= (section.length if kind == 2 else 0), "preamble")
        must(kind != 1 or section.length <= 2**30, "table too long")
        must(section.end <= 2**38, "record too long")
        sections.append(section)
        expected = section.end
    must(expected == file_bytes, "file_bytes")
    return Head(samples, data[40:56], checksum, sections)


def read_stream(data: bytes) -> pa.Table:
    """Section 4."""
    try:
        source = pa.BufferReader(data)
        kinds = []
        for message in pa.ipc.MessageReader.open_stream(source):
            kinds.append(message.type)
            must(message.metadata.size <= 2**22, "metadata")
            if message.type == "record batch":
                must(not _has_compression(message.metadata.to_pybytes()), "compression")
        must(kinds in (["schema"], ["schema", "record batch"]), "messages")
        must(source.tell() == len(data), "bytes after the stream")
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"stream: {error}") from error
    must(len(set(table.column_names)) == len(table.column_names), "names")
    return table


def _has_compression(message: bytes) -> bool:
    """Whether field 3 of the RecordBatch that field 2 of the Message points to is there (Message.fbs)."""

    def field(table: int, number: int) -> int:
        layout = table - struct.unpack_from("<i", message, table)[0]
        size = struct.unpack_from("<H", message, layout)[0]
        at = struct.unpack_from("<H", message, layout + 4 + 2 * number)[0] if 6 + 2 * number <= size else 0
        return table + at if at else 0

    header = field(struct.unpack_from("<I", message)[0], 2)
    return field(header + struct.unpack_from("<I", message, header)[0], 3) != 0


def read_table(data: bytes, head: Head) -> list[dict[str, Any]]:
    """Section 4: one dict a sample, checked."""
    table = read_stream(data)
    levels = len(head.sections) - 2
    numbers = {"_codec": 8, "_width": 32, "_height": 32, "_orientation": 8}
    numbers |= {"_source_bytes": 64, "_metadata": 64, "_trailing": 64}
    types = {"_key": pa.string()} | {name: pa.type_for_alias(f"uint{bits}") for name, bits in numbers.items()}
    types |= {name: pa.list_(pa.uint32(), levels) for name in ("_lengths", "_checksums")}
    for name, kind in types.items():
        must(name in table.column_names, f"no {name}")
        column = table.column(name)
        must(column.type == kind and column.null_count == 0, f"{name}")
        must(not pa.types.is_fixed_size_list(kind) or _full(column), f"nulls in {name}")
    for field in table.schema:
        if field.name not in types and not field.name.startswith("_"):
            must(field.name not in ("", "image"), "name of a field")
            must(pa.types.is_null(field.type) or _allowed(field.type), f"type of {field.name}", Unsupported)
    must(table.num_rows == head.num_samples, "rows")
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        _check_row(row)
    for k, section in enumerate(head.sections[1:-1]):
        must(sum(r["_lengths"][k] for r in rows) == section.length - section.preamble, "lengths")
    must(sum(r["_metadata"] + r["_trailing"] for r in rows) == head.sections[-1].length, "extras")
    return rows


def _full(column: pa.ChunkedArray) -> bool:
    return all(chunk.flatten().null_count == 0 for chunk in column.chunks)


def _allowed(kind: pa.DataType) -> bool:
    if pa.types.is_fixed_size_list(kind):
        return kind.list_size > 0 and _allowed(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _allowed(kind.value_type)
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_allowed(kind[i].type) for i in range(kind.num_fields))
    plain = (
        r"bool|u?int\d+|halffloat|float|double|(large_)?(string|binary)|date\d+\[.*|time\d+\[.*|timestamp\[.*"
    )
    return re.fullmatch(plain + r"|duration\[.*", str(kind)) is not None


def _check_row(row: dict[str, Any]) -> None:
    must(row["_codec"] in (0, 1), "codec", Unsupported)
    must(1 <= row["_orientation"] <= 8, "orientation")
    if row["_codec"] == 1:
        must(all(1 <= row[side] <= JPEG_MAX_SIDE for side in ("_width", "_height")), "size")
        must(row["_lengths"][0] > 0, "level 1")
    else:
        must(not any(row["_lengths"][1:]) and row["_metadata"] + row["_trailing"] == 0, "raw")


def read_record(data: bytes, k: int, *, extras: bool = False) -> tuple[Head, list[Sample]]:
    """Section 7: fidelity k of a record, from its first bytes."""
    head = read_head(data)
    table, *levels, last = head.sections
    wanted = [*levels[:k], *([last] if extras else [])]
    asked = wanted[-1].end if wanted else table.end
    rows = read_table(_take(data, table, asked), head)
    bodies = [_take(data, section, asked) for section in wanted]
    samples = []
    at = [section.preamble for section in levels[:k]]
    extra_at = 0
    for row in rows:
        slices = []
        for j in range(k):
            slices.append(bodies[j][at[j] : at[j] + row["_lengths"][j]])
            must(xxh3(slices[j]) % 2**32 == row["_checksums"][j], "slice checksum")
            at[j] += row["_lengths"][j]
        fields = {name: value for name, value in row.items() if not name.startswith("_")}
        sample = Sample(row["_key"], row["_codec"], row["_width"], row["_height"], row["_orientation"],
                        row["_source_bytes"], slices, fields)  # fmt: skip
        if extras:
            middle = extra_at + row["_metadata"]
            stop = middle + row["_trailing"]
            sample.metadata, sample.trailing = bodies[-1][extra_at:middle], bodies[-1][middle:stop]
            extra_at = stop
        samples.append(sample)
    return head, samples


def _take(data: bytes, section: Section, asked: int) -> bytes:
    if len(data) < section.end:
        raise NeedMore(len(data), asked)
    body = data[section.offset : section.end]
    must(xxh3(body) == section.checksum, f"checksum of section of kind {section.kind}, level {section.level}")
    return body


def read_manifest(text: bytes) -> dict[str, Any]:
    """Section 9."""
    must(len(text) <= 2**26, "too long")
    tail = re.fullmatch(rb'"xxh3": "([0-9a-f]{16})"\n\}\n', text[-29:])
    must(tail is not None, "end of dataset.json")
    assert tail is not None
    must(xxh3(text[:-20] + b"0" * 16 + text[-4:]) == int(tail[1], 16), "checksum of dataset.json")
    body: dict[str, Any] = json.loads(text)
    counts = ("version", "num_samples", "num_records", "source_bytes", "overhead_bytes", "extras_bytes")
    must(all(type(body[key]) is int and 0 <= body[key] < 2**63 for key in counts), "counts")
    must(body["format"] == "halfbyte" and body["version"] >= 1, "format")
    must(body["version"] == 1, "version", Unsupported)
    return body


def read_dataset(
    folder: Path, k: int | None = None, *, extras: bool = True
) -> tuple[dict[str, Any], list[Sample]]:
    """Sections 8 and 9: the description and all samples at fidelity k (None: the highest)."""
    about = read_manifest((folder / "dataset.json").read_bytes())
    must((folder / "index.arrow").exists(), "index missing")
    index = (folder / "index.arrow").read_bytes()
    must(len(index) == about["index"]["bytes"], "size of the index")
    must(xxh3(index) == int(about["index"]["xxh3"], 16), "checksum of the index")
    levels = len(about["levels"])
    table = read_stream(index)
    kinds = [pa.uint64(), pa.list_(pa.uint64(), levels + 2), pa.uint64()]
    must(table.column_names == ["num_samples", "ends", "checksum"] and table.schema.types == kinds, "index")
    rows: list[dict[str, Any]] = table.to_pylist()
    _check_totals(about, rows)
    samples = []
    for number, row in enumerate(rows):
        path = folder / "records" / f"{number:05d}.pcr"
        must(path.exists(), "record missing")
        head, found = read_record(path.read_bytes(), levels if k is None else k, extras=extras)
        ends = [section.end for section in head.sections]
        got = {"num_samples": head.num_samples, "ends": ends, "checksum": head.checksum}
        must(got == row, "index and header")
        must(head.dataset_id.hex() == about["id"], "data set id")
        names = [field["name"] for field in about["fields"]]
        must(all(list(sample.fields) == names for sample in found), "fields")
        samples += found
    return about, samples


def _check_totals(about: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    must(len(rows) == about["num_records"], "records")
    must(sum(row["num_samples"] for row in rows) == about["num_samples"], "samples")
    for row in rows:
        directory_end = 64 + 40 * len(row["ends"])
        must(row["num_samples"] <= 2**24 and row["ends"] == sorted(row["ends"]), "row of the index")
        must(row["ends"][0] >= directory_end and row["ends"][-1] <= 2**38, "row of the index")
    must(sum(row["ends"][0] for row in rows) == about["overhead_bytes"], "overhead")
    must(sum(row["ends"][-1] - row["ends"][-2] for row in rows) == about["extras_bytes"], "extras")
    for k, level in enumerate(about["levels"], start=1):
        must(sum(row["ends"][k] - row["ends"][k - 1] for row in rows) == level["bytes"], "bytes of a level")
