"""One record, read up to some fidelity and verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from halfbyte.errors import CorruptRecord, FidelityError, NeedMoreBytes
from halfbyte.format.buffers import Buffer
from halfbyte.format.checksum import format_checksum, section_checksum, slice_checksum
from halfbyte.format.header import KIND_LEVEL, KIND_TABLE, Header, Section, parse_header
from halfbyte.format.index import IndexRow
from halfbyte.format.sample_table import SampleTable, decode_sample_table

__all__ = [
    "Record",
    "check_section",
    "check_slices",
    "parse_record",
    "parse_table",
    "section_name",
    "slice_ranges",
]


@dataclass(frozen=True, slots=True)
class Record:
    """Levels 1 … ``fidelity`` of a record in memory.

    Attributes:
        where: its name, for messages.
        header: what its first bytes say.
        table: one row a sample.
        fidelity: levels at hand; 0 when only the table is.
        data: the bytes of the record from its start, at least to the end of the last level at hand.
        extras_verified: whether ``data`` holds the extras and their checksum was compared.
    """

    where: str
    header: Header
    table: SampleTable
    fidelity: int
    data: memoryview
    extras_verified: bool = False

    def __len__(self) -> int:
        return self.header.num_samples

    def slice_ranges(self, index: int, fidelity: int | None = None) -> npt.NDArray[np.int64]:
        """Byte ranges of one sample's slices: int64 (k, 2), start and stop from the record's start."""
        return slice_ranges(self.header, self.table, index, self.fidelity if fidelity is None else fidelity)

    def slices(self, index: int) -> list[memoryview]:
        """One sample's bytes in levels 1 … ``fidelity``, without copies."""
        return [self.data[start:stop] for start, stop in self.slice_ranges(index).tolist()]

    def extras(self, index: int) -> tuple[bytes, bytes]:
        """Metadata segments and trailing bytes of one sample.

        Raises:
            NeedMoreBytes: only a prefix of the record is at hand.
            CorruptRecord: the extras are damaged.
        """
        section = self.header.extras
        metadata, trailing = int(self.table.metadata[index]), int(self.table.trailing[index])
        if metadata + trailing and not self.extras_verified:
            check_section(self.data, section, where=self.where, verify=True)
        start = section.offset + int(self.table.extras_offsets[index])
        middle = start + metadata
        return bytes(self.data[start:middle]), bytes(self.data[middle : middle + trailing])

    def check(self, index: int) -> None:
        """Raise CorruptRecord unless one sample's slices have the checksums that the table says."""
        where = f"{self.where}: sample {index} ({self.table.keys[index].as_py()})"
        checksums, lengths = self.table.checksums[index], self.table.lengths[index]
        check_slices(self.slices(index), checksums[: self.fidelity], lengths[: self.fidelity], where=where)

    def fields(self, index: int) -> dict[str, Any]:
        """The user's fields of one sample."""
        return self.table.row(index, where=self.where)


def slice_ranges(header: Header, table: SampleTable, index: int, fidelity: int) -> npt.NDArray[np.int64]:
    """Byte ranges of one sample's slices in levels 1 … ``fidelity``."""
    # Called once a sample: filling an array costs a third of stacking two.
    ranges = np.empty((fidelity, 2), np.int64)
    ranges[:, 0] = [s.offset + s.preamble for s in header.sections[1 : fidelity + 1]]
    ranges[:, 0] += table.offsets[index, :fidelity]
    np.add(ranges[:, 0], table.lengths[index, :fidelity], out=ranges[:, 1])
    return ranges


def parse_record(
    data: Buffer,
    *,
    fidelity: int,
    where: str,
    row: IndexRow | None = None,
    dataset_id: bytes | None = None,
    verify: bool = True,
    extras: bool = False,
) -> Record:
    """Read levels 1 … ``fidelity`` from the first bytes of a record.

    Args:
        data: a prefix of the record.
        fidelity: levels wanted; 0 for the table alone.
        where: its name, for messages.
        row: what the index says of it; None to read a record on its own.
        dataset_id: of the data set it must belong to; None for any.
        verify: compare checksums of the sections read. Header and table are always verified.
        extras: whether ``data`` must hold the extras too.

    Raises:
        NeedMoreBytes: ``data`` is a sound prefix that ends too early; ``need`` is where all that was asked
            ends, or where the directory ends while that is not at hand.
        FidelityError: the record has no such level.
        CorruptRecord, UnsupportedFormat: as they say.
    """
    header = _parse_expected(data, where, row, dataset_id)
    if not 0 <= fidelity <= header.num_levels:
        raise FidelityError(
            f"{where}: fidelity {fidelity} of a record with levels 1 to {header.num_levels}; "
            f"give a number in that range, or 0 for the sample table alone"
        )
    view = memoryview(data)
    need = header.file_bytes if extras else header.prefix_bytes(fidelity)
    table = _decode_table(view, header, where, need)
    wanted = [*header.sections[1 : fidelity + 1], *([header.extras] if extras else [])]
    for section in wanted:
        check_section(view, section, where=where, verify=verify, need=need)
    return Record(where, header, table, fidelity, view, extras_verified=extras and verify)


def parse_table(
    data: Buffer, *, where: str, row: IndexRow | None = None, dataset_id: bytes | None = None
) -> tuple[Header, SampleTable]:
    """Header and sample table from the first bytes of a record; errors as :func:`parse_record`."""
    header = _parse_expected(data, where, row, dataset_id)
    return header, _decode_table(memoryview(data), header, where, header.table.end)


def _parse_expected(data: Buffer, where: str, row: IndexRow | None, dataset_id: bytes | None) -> Header:
    header = parse_header(data, where=where)
    if row is not None and IndexRow.of(header) != row:
        raise CorruptRecord(
            f"{where}: header has checksum {format_checksum(header.checksum)} and ends at byte "
            f"{header.file_bytes}, but the index says {format_checksum(row.checksum)} and {row.ends[-1]}; "
            f"it is another record or an older one: copy it again"
        )
    if dataset_id is not None and header.dataset_id != dataset_id:
        raise CorruptRecord(
            f"{where}: belongs to data set {header.dataset_id.hex()}, expected {dataset_id.hex()}; "
            f"copy the right file"
        )
    return header


def _decode_table(view: memoryview, header: Header, where: str, need: int) -> SampleTable:
    section = header.table
    check_section(view, section, where=where, verify=True, need=need)
    return decode_sample_table(view[section.offset : section.end], header, where=where)


def section_name(section: Section) -> str:
    """As messages call it."""
    if section.kind == KIND_TABLE:
        return "sample table"
    return f"level {section.level}" if section.kind == KIND_LEVEL else "extras"


def check_section(view: memoryview, section: Section, *, where: str, verify: bool, need: int = 0) -> None:
    """Raise unless ``view`` holds the section and its checksum is right.

    Args:
        view: the record from its start.
        need: bytes that NeedMoreBytes shall ask for, if more than to the section's end.
    """
    name = section_name(section)
    need = max(need, section.end)
    if len(view) < section.end:
        raise NeedMoreBytes(
            f"{where}: {len(view)} bytes, but its {name} ends at byte {section.end} and all that was asked "
            f"at byte {need}; read or copy the rest of the file",
            len(view),
            need,
        )
    if not verify:
        return
    got = section_checksum(view[section.offset : section.end])
    if got != section.checksum:
        raise CorruptRecord(
            f"{where}: {name} has checksum {format_checksum(got)} but the header says "
            f"{format_checksum(section.checksum)} (offset {section.offset}, {section.length} bytes); "
            f"the file is damaged: copy it again{_way_out(section.level)}"
        )


def _way_out(level: int) -> str:
    return f", or read it at fidelity {level - 1}" if level > 1 else ""


def check_slices(
    parts: Sequence[Buffer], checksums: npt.NDArray[np.uint32], lengths: npt.NDArray[np.int64], *, where: str
) -> None:
    """Raise unless the slices of one sample, level by level, are what the sample table says.

    Args:
        parts: its bytes in levels 1 … k.
        checksums, lengths: its row of the table, (k,) each.
        where: record and sample, for messages.

    Raises:
        NeedMoreBytes: a slice was cut; ``have`` and ``need`` count from the slice's start.
        CorruptRecord: a slice is damaged.
    """
    for level, (part, checksum, length) in enumerate(
        zip(parts, checksums.tolist(), lengths.tolist(), strict=True), start=1
    ):
        if len(part) < length:
            raise NeedMoreBytes(
                f"{where}: level {level} gave {len(part)} of {length} bytes; the file was cut: copy it again",
                len(part),
                length,
            )
        got = slice_checksum(part)
        if got != checksum:
            raise CorruptRecord(
                f"{where}: level {level} has checksum {got:08x} but the sample table says {checksum:08x} "
                f"({length} bytes); the file is damaged: copy it again{_way_out(level)}"
            )
