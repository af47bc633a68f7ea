"""Header and directory: round trip, and what neither golden files nor flips cover."""

from __future__ import annotations

import pytest
from golden_parts import Parts
from hypothesis import given
from hypothesis import strategies as st

from halfbyte.errors import CorruptRecord, NeedMoreBytes, UnsupportedFormat
from halfbyte.format.header import (
    KIND_EXTRAS,
    KIND_LEVEL,
    KIND_TABLE,
    MAX_LEVELS,
    MAX_SAMPLES,
    Header,
    Section,
    header_bytes,
    pack_header,
    parse_header,
)

ID = bytes(range(16))


def sections(lengths: list[int], preamble: int = 0) -> tuple[Section, ...]:
    kinds = [KIND_TABLE, *[KIND_LEVEL] * (len(lengths) - 2), KIND_EXTRAS]
    at = header_bytes(len(lengths) - 2)
    made = []
    for number, (kind, length) in enumerate(zip(kinds, lengths, strict=True)):
        level = number if kind == KIND_LEVEL else 0
        made.append(Section(kind, level, at, length, min(preamble, length) if level else 0, 7 * number))
        at += length
    return tuple(made)


@given(
    samples=st.integers(0, MAX_SAMPLES),
    lengths=st.lists(st.integers(0, 1 << 30), min_size=3, max_size=MAX_LEVELS + 2),
    preamble=st.integers(0, 1000),
    tail=st.binary(max_size=9),
)
def test_reads_what_it_packed(samples: int, lengths: list[int], preamble: int, tail: bytes) -> None:
    made = sections(lengths, preamble)
    data = pack_header(samples, ID, made)
    header = parse_header(data + tail, where="x")
    assert len(data) == header_bytes(len(lengths) - 2)
    assert header == Header(samples, ID, made, header.checksum)
    assert header.file_bytes == len(data) + sum(lengths)
    assert [header.prefix_bytes(k) for k in range(len(lengths) - 1)] == [s.end for s in made[:-1]]


@given(at=st.integers(0, 8 * 224 - 1))
def test_every_flipped_bit_is_found(at: int) -> None:
    data = bytearray(pack_header(5, ID, sections([50, 60, 70, 80])))
    data[at // 8] ^= 1 << at % 8
    # More levels than there are, and so a longer directory, is the one lie that looks like a prefix.
    lies = NeedMoreBytes if 24 <= at // 8 < 28 else CorruptRecord
    with pytest.raises((CorruptRecord, lies), match=r"^x: "):
        parse_header(bytes(data), where="x")


def test_levels_are_numbered_from_one() -> None:
    header = parse_header(pack_header(5, ID, sections([50, 60, 70, 80])), where="x")
    assert [header.level(k).length for k in (1, 2)] == [60, 70]
    assert (header.table.length, header.extras.length, header.num_levels) == (50, 80, 2)
    for k in (0, 3, -1):
        with pytest.raises(IndexError, match=f"level {k} of a record with levels 1 to 2"):
            header.level(k)


@pytest.mark.parametrize("wrong", [b"", ID[:-1], ID + b"x"])
def test_ids_of_another_length_are_not_packed(wrong: bytes) -> None:
    with pytest.raises(ValueError, match=f"data set id of {len(wrong)} bytes; give 16"):
        pack_header(1, wrong, sections([1, 1, 1]))


def test_a_newer_version_is_told_from_a_damaged_one() -> None:
    sound = Parts.of(pack_header(1, ID, sections([1, 1, 1])) + bytes(3))
    sound.header["version"] = 258
    newer = sound.signed()
    with pytest.raises(UnsupportedFormat, match="format version 258, but this release reads version 1"):
        parse_header(newer, where="x")
    damaged = newer[:56] + pack_header(1, ID, sections([1, 1, 1]))[56:64] + newer[64:]
    with pytest.raises(CorruptRecord, match="format version 258; the file is damaged"):
        parse_header(damaged, where="x")


def test_a_newer_version_is_known_by_its_first_bytes() -> None:
    sound = Parts.of(pack_header(1, ID, sections([1, 1, 1])) + bytes(3))
    sound.header.update(version=2, num_levels=2**32 - 1, num_sections=0, fixed_bytes=9)
    with pytest.raises(UnsupportedFormat, match="install a newer halfbyte"):
        parse_header(sound.signed()[:64], where="x")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_takes_any_buffer(kind: type) -> None:
    assert parse_header(kind(pack_header(1, ID, sections([1, 2, 3]))), where="x").num_samples == 1
