"""From encoded samples to the bytes of a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from halfbyte.codecs.encoded import EncodedSample
from halfbyte.errors import RecordError, SourceError
from halfbyte.format.buffers import Buffer
from halfbyte.format.checksum import section_checksum, slice_checksum
from halfbyte.format.fields import check_fields
from halfbyte.format.header import (
    KIND_EXTRAS,
    KIND_LEVEL,
    KIND_TABLE,
    Section,
    header_bytes,
    pack_header,
    parse_header,
)
from halfbyte.format.index import IndexRow
from halfbyte.format.sample_table import decode_sample_table, encode_sample_table, system_schema

__all__ = ["EncodedRecord", "encode_record"]


@dataclass(frozen=True, slots=True)
class EncodedRecord:
    """The bytes of a record, in parts to be written one after another, and its row of the index."""

    parts: tuple[Buffer, ...]
    row: IndexRow


def encode_record(
    samples: Sequence[EncodedSample], *, schema: pa.Schema, num_levels: int, dataset_id: bytes
) -> EncodedRecord:
    """Lay out samples as a record: header, directory, sample table, levels, extras.

    Args:
        samples: in the order they shall have.
        schema: Arrow schema of the user's fields.
        num_levels: L of the data set; no sample may have more slices.
        dataset_id: 16 bytes that all records of a data set share.

    Raises:
        SourceError: a field of a name or type that the format does not allow, or a value not of its type.
        ValueError: a sample that no reader would take.
    """
    if any(len(s.slices) > num_levels for s in samples):
        raise ValueError(f"a sample with more slices than the {num_levels} levels of the data set; join some")
    slices = [[*s.slices, *[b""] * (num_levels - len(s.slices))] for s in samples]
    fields = _user_columns(samples, schema)
    table = encode_sample_table(fields, _system_columns(samples, slices, num_levels))
    levels: list[list[Buffer]] = [[row[level] for row in slices] for level in range(num_levels)]
    extras: list[Buffer] = [part for s in samples for part in (s.metadata, s.trailing)]

    head = pack_header(len(samples), dataset_id, _lay_out([[table], *levels, extras]))
    row = _read_back(head, table)
    parts = (head, table, *(part for body in (*levels, extras) for part in body if len(part)))
    return EncodedRecord(parts, row)


def _lay_out(bodies: list[list[Buffer]]) -> tuple[Section, ...]:
    last = len(bodies) - 1
    offset = header_bytes(last - 1)
    sections = []
    for number, body in enumerate(bodies):
        kind = KIND_TABLE if number == 0 else KIND_EXTRAS if number == last else KIND_LEVEL
        level = number if kind == KIND_LEVEL else 0
        length = sum(map(len, body))
        sections.append(Section(kind, level, offset, length, 0, section_checksum(*body)))
        offset += length
    return tuple(sections)


def _read_back(head: bytes, table: bytes) -> IndexRow:
    """The index row as a reader sees the record; what it would refuse is not written."""
    try:
        header = parse_header(head, where="new record")
        decode_sample_table(table, header, where="new record")
    except RecordError as error:
        raise ValueError(f"samples that make no valid record: {error}") from error
    return IndexRow.of(header)


def _user_columns(samples: Sequence[EncodedSample], schema: pa.Schema) -> pa.Table:
    try:
        check_fields(schema)
    except ValueError as error:
        raise SourceError(str(error)) from error
    stray = {name for s in samples for name in s.fields} - set(schema.names)
    if stray:
        raise SourceError(
            f"samples with fields {sorted(stray)} that are not in the schema {schema.names}; "
            f"give every field of every sample a column"
        )
    return pa.table([_user_column(samples, field) for field in schema], schema=schema)


def _user_column(samples: Sequence[EncodedSample], field: pa.Field) -> pa.Array:
    values = [s.fields.get(field.name) for s in samples]
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SourceError(
            f"field {field.name!r} has a value that is no {field.type} ({error}); correct it, or give the "
            f"field another type"
        ) from error


def _system_columns(
    samples: Sequence[EncodedSample], slices: list[list[Buffer]], num_levels: int
) -> pa.Table:
    lengths = np.array([[len(part) for part in row] for row in slices], np.uint32)
    checksums = np.array([[slice_checksum(part) for part in row] for row in slices], np.uint32)
    columns = [
        [s.key for s in samples],
        [s.codec for s in samples],
        [s.width for s in samples],
        [s.height for s in samples],
        [s.orientation for s in samples],
        [s.source_bytes for s in samples],
        [len(s.metadata) for s in samples],
        [len(s.trailing) for s in samples],
        pa.FixedSizeListArray.from_arrays(pa.array(lengths.ravel()), num_levels),
        pa.FixedSizeListArray.from_arrays(pa.array(checksums.ravel()), num_levels),
    ]
    schema = system_schema(num_levels)
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, f.type)
        for column, f in zip(columns, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)
