"""Level 0 of a record: one row a sample, as an Arrow IPC stream (docs/format.md, section 4)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from halfbyte.errors import CorruptRecord, UnsupportedFormat
from halfbyte.format.arrow_stream import fixed_width, read_table, write_table
from halfbyte.format.buffers import Buffer
from halfbyte.format.fields import RESERVED_PREFIX, FieldTypeError, check_fields
from halfbyte.format.header import Header

__all__ = [
    "CODEC_JPEG",
    "CODEC_NAMES",
    "CODEC_RAW",
    "MAX_JPEG_SIDE",
    "MAX_SLICE_BYTES",
    "SYSTEM_COLUMNS",
    "SampleTable",
    "decode_sample_table",
    "encode_sample_table",
    "system_schema",
]

CODEC_RAW = 0
CODEC_JPEG = 1
CODEC_NAMES = {CODEC_RAW: "raw", CODEC_JPEG: "jpeg"}

MAX_SLICE_BYTES = (1 << 32) - 1
# Of the two bytes that a JPEG's frame header has for each side.
MAX_JPEG_SIDE = 65535

SYSTEM_COLUMNS = (
    "_key",
    "_codec",
    "_width",
    "_height",
    "_orientation",
    "_source_bytes",
    "_metadata",
    "_trailing",
    "_lengths",
    "_checksums",
)


@functools.lru_cache
def system_schema(num_levels: int) -> pa.Schema:
    """The columns that every sample table has, after the user's own."""
    types = (
        pa.string(),
        pa.uint8(),
        pa.uint32(),
        pa.uint32(),
        pa.uint8(),
        pa.uint64(),
        pa.uint64(),
        pa.uint64(),
        pa.list_(pa.uint32(), num_levels),
        pa.list_(pa.uint32(), num_levels),
    )
    return pa.schema(
        [pa.field(name, kind, nullable=False) for name, kind in zip(SYSTEM_COLUMNS, types, strict=True)]
    )


@dataclass(frozen=True, slots=True)
class SampleTable:
    """The sample table, validated; row i is sample i of the record.

    Attributes:
        fields: the user's columns.
        keys: names of the samples.
        codec, orientation: uint8 (n,). Orientation is EXIF's, 1 to 8.
        width, height: uint32 (n,), pixels as stored (before orientation); 0 where unknown (raw only).
        source_bytes: uint64 (n,), size of the file that the sample came from.
        lengths: int64 (n, L), bytes of each sample in each level.
        offsets: int64 (n, L), where they start, from the end of the level's preamble.
        checksums: uint32 (n, L), of each slice.
        metadata, trailing: int64 (n,), bytes of both kinds of extras; they follow each other in that order.
        extras_offsets: int64 (n,), where they start, from the start of the extras.
    """

    fields: pa.Table
    keys: pa.ChunkedArray
    codec: npt.NDArray[np.uint8]
    width: npt.NDArray[np.uint32]
    height: npt.NDArray[np.uint32]
    orientation: npt.NDArray[np.uint8]
    source_bytes: npt.NDArray[np.uint64]
    lengths: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    checksums: npt.NDArray[np.uint32]
    metadata: npt.NDArray[np.int64]
    trailing: npt.NDArray[np.int64]
    extras_offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codec)

    @property
    def nbytes(self) -> int:
        """Bytes that it holds in memory."""
        arrays = (self.lengths, self.offsets, self.checksums, self.metadata, self.trailing)
        columns = int(self.fields.nbytes) + int(self.keys.nbytes)
        return columns + self.extras_offsets.nbytes + sum(array.nbytes for array in arrays)

    def row(self, index: int, *, where: str = "record") -> dict[str, Any]:
        """The user's fields of one sample, as Python values.

        Args:
            index: of the sample in its record.
            where: name of the record, for messages.

        Raises:
            CorruptRecord: a value that Python has no room for, such as a date in the year 40000.
        """
        values = {}
        for name, column in zip(self.fields.column_names, self.fields.columns, strict=True):
            try:
                values[name] = column[index].as_py()
            except (pa.ArrowException, ValueError, OverflowError, KeyError, OSError) as error:
                raise CorruptRecord(
                    f"{where}: sample {index} ({self.keys[index].as_py()}): field {name} of type "
                    f"{column.type} cannot be read ({error}); convert the source again without it"
                ) from error
        return values


class _UnknownCodecError(ValueError):
    pass


def encode_sample_table(fields: pa.Table, system: pa.Table) -> bytes:
    """The bytes of the table section.

    Raises:
        ValueError: a user's column of a name or type that the format does not allow.
    """
    check_fields(fields.schema)
    schema = pa.schema([*fields.schema, *system.schema])
    return write_table(pa.table([*fields.columns, *system.columns], schema=schema))


def decode_sample_table(data: Buffer, header: Header, *, where: str) -> SampleTable:
    """Read and validate the bytes of the table section against the record's header.

    Raises:
        CorruptRecord: the bytes are no table, or contradict the header.
        UnsupportedFormat: a codec or a type of field that this release does not know.
    """
    try:
        table = read_table(data)
        system = _system_arrays(table, header.num_levels)
        user = table.select([name for name in table.column_names if not name.startswith(RESERVED_PREFIX)])
        check_fields(user.schema)
        parsed = _assemble(user, table.column("_key"), system, header)
        _check_values(parsed, header)
    except (FieldTypeError, _UnknownCodecError) as error:
        raise UnsupportedFormat(f"{where}: sample table: {error}, or install a newer halfbyte") from error
    except ValueError as error:
        raise CorruptRecord(f"{where}: sample table: {error}; the file is damaged: copy it again") from error
    return parsed


def _system_arrays(table: pa.Table, num_levels: int) -> dict[str, npt.NDArray[Any]]:
    for field in system_schema(num_levels):
        index = table.schema.get_field_index(field.name)
        if index < 0 or table.schema.field(index).type != field.type:
            got = "missing" if index < 0 else f"of type {table.schema.field(index).type}"
            raise ValueError(f"its column {field.name} is {got}, expected {field.type}")
    if table.column("_key").null_count:
        raise ValueError("its column _key has nulls")
    return {name: fixed_width(table, name) for name in SYSTEM_COLUMNS if name != "_key"}


def _assemble(
    fields: pa.Table, keys: pa.ChunkedArray, system: dict[str, npt.NDArray[Any]], header: Header
) -> SampleTable:
    if len(fields) != header.num_samples:
        raise ValueError(f"it has {len(fields)} rows, but the header says {header.num_samples} samples")
    for name in ("_metadata", "_trailing"):
        # Each at most the section's own length: then their sums cannot wrap.
        if np.any(system[name] > header.extras.length):
            raise ValueError(f"its column {name} claims more than the extras' {header.extras.length} bytes")
    lengths = system["_lengths"].astype(np.int64)
    metadata, trailing = system["_metadata"].astype(np.int64), system["_trailing"].astype(np.int64)
    extras = metadata + trailing
    return SampleTable(
        fields=fields,
        keys=keys,
        codec=system["_codec"],
        width=system["_width"],
        height=system["_height"],
        orientation=system["_orientation"],
        source_bytes=system["_source_bytes"],
        lengths=lengths,
        offsets=np.cumsum(lengths, axis=0) - lengths,
        checksums=system["_checksums"],
        metadata=metadata,
        trailing=trailing,
        extras_offsets=np.cumsum(extras) - extras,
    )


def _check_values(table: SampleTable, header: Header) -> None:
    unknown = set(np.unique(table.codec).tolist()) - set(CODEC_NAMES)
    if unknown:
        known = ", ".join(f"{number} = {name}" for number, name in CODEC_NAMES.items())
        raise _UnknownCodecError(f"codec {min(unknown)}, but this release knows {known}; copy it again")
    jpeg = table.codec == CODEC_JPEG
    sizes = np.stack([table.width, table.height])
    _refuse(jpeg & (table.lengths[:, 0] == 0), "a jpeg without level 1")
    _refuse(jpeg & np.any((sizes < 1) | (sizes > MAX_JPEG_SIDE), axis=0), "a jpeg of an impossible size")
    _refuse(~jpeg & np.any(table.lengths[:, 1:] > 0, axis=1), "a raw sample with bytes beyond level 1")
    _refuse(~jpeg & (table.metadata + table.trailing > 0), "a raw sample with extras")
    _refuse((table.orientation < 1) | (table.orientation > 8), "turned to an orientation outside 1 to 8")
    for section, total in zip(header.sections[1:], table.lengths.sum(axis=0).tolist(), strict=False):
        if total != section.length - section.preamble:
            raise ValueError(
                f"its samples add up to {total} bytes of level {section.level}, which has "
                f"{section.length - section.preamble}"
            )
    extras = int(table.metadata.sum()) + int(table.trailing.sum())
    if extras != header.extras.length:
        raise ValueError(f"its samples add up to {extras} bytes of extras, which have {header.extras.length}")


def _refuse(wrong: npt.NDArray[np.bool_], what: str) -> None:
    if np.any(wrong):
        raise ValueError(f"sample {int(np.argmax(wrong))} is {what}")
