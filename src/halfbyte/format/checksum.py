"""XXH3: 64 bits over a section, its low 32 bits over one sample's slice of a level."""

from __future__ import annotations

import xxhash

from halfbyte.format.buffers import Buffer

__all__ = ["format_checksum", "section_checksum", "slice_checksum"]


def section_checksum(*parts: Buffer) -> int:
    """XXH3-64 (seed 0) of the concatenation of ``parts``."""
    if len(parts) == 1:
        return xxhash.xxh3_64_intdigest(parts[0])
    digest = xxhash.xxh3_64()
    for part in parts:
        digest.update(part)
    return digest.intdigest()


def slice_checksum(data: Buffer) -> int:
    """The low 32 bits of XXH3-64 (seed 0)."""
    return xxhash.xxh3_64_intdigest(data) & 0xFFFF_FFFF


def format_checksum(value: int) -> str:
    """As error messages and JSON show it: 16 lower-case hexadecimal digits."""
    return f"{value:016x}"
