"""The directory of a record: where its sections are (docs/format.md, section 3)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from halfbyte.errors import CorruptRecord

__all__ = [
    "ENTRY",
    "KIND_EXTRAS",
    "KIND_LEVEL",
    "KIND_TABLE",
    "MAX_RECORD_BYTES",
    "MAX_TABLE_BYTES",
    "Section",
    "check_sections",
    "unpack_section",
]

# kind, level, reserved, offset, length, preamble bytes, checksum
ENTRY = struct.Struct("<HHIQQQQ")

KIND_TABLE = 1
KIND_LEVEL = 2
KIND_EXTRAS = 3

MAX_TABLE_BYTES = 1 << 30
# Times the limit of samples it stays below 2**63, so sums over a record cannot wrap.
MAX_RECORD_BYTES = 1 << 38


@dataclass(frozen=True, slots=True)
class Section:
    """One entry of the directory; offsets and lengths in bytes from the start of the record."""

    kind: int
    level: int
    offset: int
    length: int
    preamble: int
    checksum: int

    @property
    def end(self) -> int:
        return self.offset + self.length


def unpack_section(view: memoryview, start: int, number: int, where: str) -> Section:
    """Entry ``number`` of a directory that begins at byte ``start``."""
    kind, level, reserved, *rest = ENTRY.unpack_from(view, start + number * ENTRY.size)
    if reserved:
        raise CorruptRecord(
            f"{where}: directory entry {number} has {reserved:#x} in its reserved field, expected 0; "
            f"the file is damaged: copy it again"
        )
    return Section(kind, level, *rest)


def check_sections(where: str, sections: tuple[Section, ...], start: int, file_bytes: int) -> None:
    """Raise unless the sections are those of a record and lie one after another from byte ``start``."""
    kinds = [KIND_TABLE, *[KIND_LEVEL] * (len(sections) - 2), KIND_EXTRAS]
    levels = [*range(len(sections) - 1), 0]
    expected = start
    for number, (section, kind, level) in enumerate(zip(sections, kinds, levels, strict=True)):
        if (section.kind, section.level) != (kind, level):
            raise CorruptRecord(
                f"{where}: directory entry {number} is of kind {section.kind}, level {section.level}; "
                f"expected kind {kind}, level {level}; the file is damaged: copy it again"
            )
        _check_extent(where, number, section, expected)
        expected = section.end
    if expected != file_bytes:
        raise CorruptRecord(
            f"{where}: sections end at byte {expected} but the header says {file_bytes}; "
            f"the file is damaged: copy it again"
        )


def _check_extent(where: str, number: int, section: Section, expected: int) -> None:
    if section.offset != expected:
        raise CorruptRecord(
            f"{where}: directory entry {number} starts at byte {section.offset}, expected {expected}, where "
            f"the one before it ends; the file is damaged: copy it again"
        )
    most = section.length if section.kind == KIND_LEVEL else 0
    if section.preamble > most:
        raise CorruptRecord(
            f"{where}: directory entry {number} has a preamble of {section.preamble} bytes, expected at most "
            f"{most}; the file is damaged: copy it again"
        )
    limit = MAX_TABLE_BYTES if section.kind == KIND_TABLE else MAX_RECORD_BYTES - section.offset
    if section.length > limit:
        raise CorruptRecord(
            f"{where}: directory entry {number} is of {section.length} bytes, over the limit of {limit}; "
            f"the file is damaged: copy it again"
        )
