"""The fixed header of a record, read together with its directory (docs/format.md, section 2)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NoReturn

from halfbyte.errors import CorruptRecord, NeedMoreBytes, UnsupportedFormat
from halfbyte.format.buffers import Buffer
from halfbyte.format.checksum import format_checksum, section_checksum
from halfbyte.format.directory import (
    ENTRY,
    KIND_EXTRAS,
    KIND_LEVEL,
    KIND_TABLE,
    MAX_RECORD_BYTES,
    MAX_TABLE_BYTES,
    Section,
    check_sections,
    unpack_section,
)

__all__ = [
    "DATASET_ID_BYTES",
    "ENTRY",
    "HEADER",
    "KIND_EXTRAS",
    "KIND_LEVEL",
    "KIND_TABLE",
    "KNOWN_FLAGS",
    "MAGIC",
    "MAX_LEVELS",
    "MAX_RECORD_BYTES",
    "MAX_SAMPLES",
    "MAX_TABLE_BYTES",
    "VERSION",
    "Header",
    "Section",
    "header_bytes",
    "pack_header",
    "parse_header",
]

MAGIC = b"\x89PCR\r\n\x1a\n"
VERSION = 1
KNOWN_FLAGS = 0

# magic, version, fixed header bytes, flags, samples, levels, sections, file bytes, data set id, checksum
HEADER = struct.Struct("<8sHHIQIIQ16sQ")
DATASET_ID_BYTES = 16

MAX_LEVELS = 64
MAX_SAMPLES = 1 << 24


@dataclass(frozen=True, slots=True)
class Header:
    """What the first bytes of a record say: its samples, and where its sections are."""

    num_samples: int
    dataset_id: bytes
    sections: tuple[Section, ...]
    checksum: int

    @property
    def num_levels(self) -> int:
        return len(self.sections) - 2

    @property
    def table(self) -> Section:
        return self.sections[0]

    @property
    def extras(self) -> Section:
        return self.sections[-1]

    @property
    def file_bytes(self) -> int:
        return self.extras.end

    def level(self, number: int) -> Section:
        """The section of level ``number`` (1 to ``num_levels``)."""
        if not 1 <= number <= self.num_levels:
            raise IndexError(f"level {number} of a record with levels 1 to {self.num_levels}")
        return self.sections[number]

    def prefix_bytes(self, fidelity: int) -> int:
        """Bytes from the start of the record to the end of level ``fidelity`` (0: of the table)."""
        return self.sections[fidelity].end


def header_bytes(num_levels: int) -> int:
    """Bytes of header and directory together."""
    return HEADER.size + ENTRY.size * (num_levels + 2)


def pack_header(num_samples: int, dataset_id: bytes, sections: tuple[Section, ...]) -> bytes:
    """Header and directory of a record whose sections lie as ``sections`` says."""
    # struct would pad or cut it without a word.
    if len(dataset_id) != DATASET_ID_BYTES:
        raise ValueError(f"data set id of {len(dataset_id)} bytes; give {DATASET_ID_BYTES}")
    directory = b"".join(
        ENTRY.pack(s.kind, s.level, 0, s.offset, s.length, s.preamble, s.checksum) for s in sections
    )
    fields = (
        MAGIC,
        VERSION,
        HEADER.size,
        KNOWN_FLAGS,
        num_samples,
        len(sections) - 2,
        len(sections),
        sections[-1].end,
        dataset_id,
    )
    checksum = section_checksum(HEADER.pack(*fields, 0)[:-8], directory)
    return HEADER.pack(*fields, checksum) + directory


def parse_header(data: Buffer, *, where: str) -> Header:
    """Read header and directory from the start of a record.

    Args:
        data: at least the first ``header_bytes(num_levels)`` bytes; more is welcome.
        where: name of the record, for messages.

    Raises:
        NeedMoreBytes: ``data`` is a sound prefix that ends too early.
        UnsupportedFormat: a newer version or unknown required flags.
        CorruptRecord: anything else that contradicts the format.
    """
    view = memoryview(data)
    _check_magic(view, where)
    if len(view) < HEADER.size:
        raise NeedMoreBytes(_short(where, "header", len(view), HEADER.size), len(view), HEADER.size)
    (_, version, fixed, flags, samples, levels, count, file_bytes, dataset_id, checksum) = HEADER.unpack_from(
        view
    )
    if version != VERSION:
        _refuse_version(view, version, levels, checksum, where)
    _check_counts(where, fixed, levels, count, samples)
    need = header_bytes(levels)
    if file_bytes < need:
        raise CorruptRecord(
            f"{where}: header of a file of {file_bytes} bytes, but its directory alone ends at byte {need}; "
            f"the file is damaged: copy it again"
        )
    if len(view) < need:
        raise NeedMoreBytes(_short(where, "directory", len(view), need), len(view), need)
    got = section_checksum(view[: HEADER.size - 8], view[HEADER.size : need])
    if got != checksum:
        raise CorruptRecord(
            f"{where}: header and directory have checksum {format_checksum(got)} but the header says "
            f"{format_checksum(checksum)} (offset 0, {need} bytes); the file is damaged: copy it again"
        )
    if flags & ~KNOWN_FLAGS:
        raise UnsupportedFormat(
            f"{where}: flags {flags:#x} ask for features that this release does not know (it knows "
            f"{KNOWN_FLAGS:#x}); install a newer halfbyte"
        )
    sections = tuple(unpack_section(view, HEADER.size, number, where) for number in range(levels + 2))
    check_sections(where, sections, need, file_bytes)
    return Header(samples, dataset_id, sections, checksum)


def _short(where: str, what: str, have: int, need: int) -> str:
    return f"{where}: {have} bytes, but its {what} ends at byte {need}; read or copy the rest of the file"


def _check_magic(view: memoryview, where: str) -> None:
    have = bytes(view[: len(MAGIC)])
    if have != MAGIC[: len(have)]:
        raise CorruptRecord(
            f"{where}: begins with {have.hex()} where a record begins with {MAGIC.hex()}; "
            f"it is not a halfbyte record, or it is damaged: copy it again"
        )


def _refuse_version(view: memoryview, version: int, levels: int, checksum: int, where: str) -> NoReturn:
    """A checksum that fits once the version is put right tells a damaged file from a newer one."""
    mended = (view[: len(MAGIC)], VERSION.to_bytes(2, "little"), view[len(MAGIC) + 2 : HEADER.size - 8])
    directory = view[HEADER.size : header_bytes(min(levels, MAX_LEVELS))]
    if version == 0 or section_checksum(*mended, directory) == checksum:
        raise CorruptRecord(f"{where}: format version {version}; the file is damaged: copy it again")
    raise UnsupportedFormat(
        f"{where}: format version {version}, but this release reads version {VERSION}; "
        f"install a newer halfbyte, or copy the file again if it may be damaged"
    )


def _check_counts(where: str, fixed: int, levels: int, count: int, samples: int) -> None:
    if fixed != HEADER.size:
        raise CorruptRecord(
            f"{where}: header of {fixed} bytes, expected {HEADER.size}; the file is damaged: copy it again"
        )
    if not 1 <= levels <= MAX_LEVELS or count != levels + 2:
        raise CorruptRecord(
            f"{where}: {levels} levels and {count} sections, expected 1 to {MAX_LEVELS} levels and two "
            f"sections more; the file is damaged: copy it again"
        )
    if samples > MAX_SAMPLES:
        raise CorruptRecord(
            f"{where}: {samples} samples, over the limit of {MAX_SAMPLES}; the file is damaged: copy it again"
        )
