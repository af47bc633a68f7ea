"""index.arrow: one row a record, so that opening a data set reads no record (docs/format.md, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from halfbyte.errors import CorruptRecord
from halfbyte.format.arrow_stream import fixed_width, read_table, write_table
from halfbyte.format.buffers import Buffer
from halfbyte.format.checksum import format_checksum, section_checksum
from halfbyte.format.header import MAX_RECORD_BYTES, MAX_SAMPLES, Header, header_bytes

__all__ = ["INDEX_NAME", "Index", "IndexRow", "decode_index", "encode_index", "record_name"]

INDEX_NAME = "index.arrow"


def record_name(number: int) -> str:
    """Path of record ``number`` inside the data set."""
    return f"records/{number:05d}.pcr"


@dataclass(frozen=True, slots=True)
class IndexRow:
    """What the index says of one record.

    Attributes:
        num_samples: samples in it.
        ends: bytes from its start to the end of the table, of level 1 … L, and of the extras.
        checksum: of its header and directory, which in turn hold those of the sections.
    """

    num_samples: int
    ends: tuple[int, ...]
    checksum: int

    @classmethod
    def of(cls, header: Header) -> IndexRow:
        """The row of a record with this header."""
        return cls(header.num_samples, tuple(s.end for s in header.sections), header.checksum)


@dataclass(frozen=True, slots=True)
class Index:
    """The whole index.

    Attributes:
        num_samples: int64 (R,), samples a record.
        ends: int64 (R, L + 2), bytes, as in :class:`IndexRow`.
        checksums: uint64 (R,).
        starts: int64 (R + 1,), number of the first sample of each record; the last is the number of samples.
    """

    num_samples: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    checksums: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.num_samples)

    def row(self, record: int) -> IndexRow:
        return IndexRow(
            int(self.num_samples[record]), tuple(self.ends[record].tolist()), int(self.checksums[record])
        )


def _schema(num_levels: int) -> pa.Schema:
    kinds = {
        "num_samples": pa.uint64(),
        "ends": pa.list_(pa.uint64(), num_levels + 2),
        "checksum": pa.uint64(),
    }
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])


def encode_index(rows: Sequence[IndexRow], num_levels: int) -> bytes:
    """The bytes of index.arrow: an Arrow IPC stream of one batch."""
    ends = np.array([row.ends for row in rows], np.uint64).reshape(len(rows), num_levels + 2)
    columns = [
        pa.array([row.num_samples for row in rows], pa.uint64()),
        pa.FixedSizeListArray.from_arrays(pa.array(ends.ravel()), num_levels + 2),
        pa.array([row.checksum for row in rows], pa.uint64()),
    ]
    return write_table(pa.table(columns, schema=_schema(num_levels)))


def decode_index(data: Buffer, *, num_levels: int, checksum: int, where: str) -> Index:
    """Read and verify the bytes of index.arrow.

    Raises:
        CorruptRecord: the bytes contradict ``checksum`` or the format.
    """
    got = section_checksum(data)
    if got != checksum:
        raise CorruptRecord(
            f"{where}: has checksum {format_checksum(got)} but dataset.json says {format_checksum(checksum)} "
            f"({len(data)} bytes); it is damaged: copy it again"
        )
    try:
        return _from_table(read_table(data), num_levels)
    except ValueError as error:
        raise CorruptRecord(f"{where}: is no index of records: {error}; copy it again") from error


def _from_table(table: pa.Table, num_levels: int) -> Index:
    schema = _schema(num_levels)
    if table.schema.names != schema.names or table.schema.types != schema.types:
        raise ValueError(f"it has the columns {_describe(table.schema)}; expected {_describe(schema)}")
    columns = {name: fixed_width(table, name) for name in schema.names}
    counts, ends = columns["num_samples"], columns["ends"]
    if counts.size and counts.max() > MAX_SAMPLES:
        raise ValueError(f"it has a record of {counts.max()} samples, over the limit of {MAX_SAMPLES}")
    if ends.size and ends.max() > MAX_RECORD_BYTES:
        raise ValueError(f"it has a record of {ends.max()} bytes, over the limit of {MAX_RECORD_BYTES}")
    ends = ends.astype(np.int64)
    if np.any(np.diff(ends, axis=1) < 0) or np.any(ends[:, 0] < header_bytes(num_levels)):
        raise ValueError("it has a record whose sections run backwards")
    counts = counts.astype(np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return Index(counts, ends, columns["checksum"], starts)


def _describe(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
