"""One damaged record for every rule of the format, each made from the example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from golden_parts import Parts, flipped, with_cell, with_column, with_table

CORRUPT, UNSUPPORTED = "CorruptRecord", "UnsupportedFormat"
# Sections of the example.
TABLE, LEVEL_1, LEVEL_2, EXTRAS = range(4)


@dataclass(frozen=True)
class Damage:
    """A way to damage a record, the error that it gives, and what the message says (a regular expression)."""

    make: Callable[[bytes], bytes]
    error: str
    match: str


def header(**changes: Any) -> Callable[[bytes], bytes]:
    def make(record: bytes) -> bytes:
        parts = Parts.of(record)
        parts.header.update(changes)
        return parts.signed()

    return make


def entry(number: int, **changes: Any) -> Callable[[bytes], bytes]:
    def make(record: bytes) -> bytes:
        parts = Parts.of(record)
        parts.entries[number].update(changes)
        return parts.signed()

    return make


def moved(number: int, by: int) -> Callable[[bytes], bytes]:
    """The directory says that a section begins elsewhere."""
    return lambda record: entry(number, offset=Parts.of(record).entries[number]["offset"] + by)(record)


def longer(number: int, by: int) -> Callable[[bytes], bytes]:
    """The directory says that a section is longer, and moves the ones after it."""

    def make(record: bytes) -> bytes:
        parts = Parts.of(record)
        parts.entries[number]["length"] += by
        for later in parts.entries[number + 1 :]:
            later["offset"] += by
        parts.header["file_bytes"] += by
        return parts.signed()

    return make


def flip(section: int, at: int = 40) -> Callable[[bytes], bytes]:
    """A bit of a section, nothing signed."""
    return lambda record: flipped(record, Parts.of(record).entries[section]["offset"] + at)


def body(section: int, change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Other bytes of a section, everything signed again."""

    def make(record: bytes) -> bytes:
        parts = Parts.of(record)
        parts.bodies[section] = change(parts.bodies[section])
        return parts.lay_out().signed()

    return make


def table(change: Callable[[pa.Table], pa.Table], **how: Any) -> Callable[[bytes], bytes]:
    return lambda record: with_table(record, change, **how)


def same(value: Any) -> Any:
    return value


def drop(name: str) -> Callable[[pa.Table], pa.Table]:
    return lambda t: t.drop_columns([name])


def nulls_in_lengths(t: pa.Table) -> pa.Table:
    return with_cell("_lengths", 1, [5, None])(t)


def doubled(t: pa.Table) -> pa.Table:
    return t.append_column("label", t.column("label"))


def bad_utf8(t: pa.Table) -> pa.Table:
    offsets, text = pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff")
    return with_column("_key", pa.Array.from_buffers(pa.string(), 2, [None, offsets, text]))(t)


def union_column(t: pa.Table) -> pa.Table:
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])
    return with_column("choice", union)(t)


def swapped_lengths(t: pa.Table) -> pa.Table:
    return with_cell("_lengths", 1, [4, 0])(t)


def unit_vectors(t: pa.Table) -> pa.Table:
    return with_column("bomb", [[None] * 3, []], pa.list_(pa.null()))(t)


RECORDS: dict[str, Damage] = {
    "magic": Damage(lambda r: flipped(r, 1), CORRUPT, "begins with 89404352.* not a halfbyte record"),
    "version_newer": Damage(header(version=2), UNSUPPORTED, "format version 2, .* install a newer"),
    "version_flipped": Damage(lambda r: flipped(r, 8), CORRUPT, "format version 17; the file is damaged"),
    "version_zero": Damage(header(version=0), CORRUPT, "format version 0; the file is damaged"),
    "flag_unknown": Damage(header(flags=4), UNSUPPORTED, "flags 0x4 ask for features"),
    "fixed_bytes": Damage(header(fixed_bytes=72), CORRUPT, "header of 72 bytes, expected 64"),
    "levels_none": Damage(header(num_levels=0, num_sections=2), CORRUPT, "0 levels and 2 sections"),
    "levels_too_many": Damage(header(num_levels=65, num_sections=67), CORRUPT, "65 levels and 67 sections"),
    "sections_miscounted": Damage(header(num_sections=5), CORRUPT, "2 levels and 5 sections"),
    "samples_too_many": Damage(header(num_samples=2**24 + 1), CORRUPT, "16777217 samples, over the limit"),
    "samples_miscounted": Damage(header(num_samples=3), CORRUPT, "it has 2 rows, but the header says 3"),
    "file_bytes_small": Damage(header(file_bytes=100), CORRUPT, "directory alone ends at byte 224"),
    "file_bytes_wrong": Damage(header(file_bytes=2**30), CORRUPT, "the header says 1073741824"),
    "checksum_of_header": Damage(lambda r: flipped(r, 45), CORRUPT, "header and directory have checksum"),
    "checksum_of_directory": Damage(lambda r: flipped(r, 100), CORRUPT, "header and directory have checksum"),
    "checksum_of_table": Damage(flip(TABLE), CORRUPT, "sample table has checksum"),
    "checksum_of_level_1": Damage(flip(LEVEL_1), CORRUPT, "level 1 has checksum .* copy it again$"),
    "checksum_of_level_2": Damage(
        flip(LEVEL_2, 3), CORRUPT, "level 2 has checksum .* read it at fidelity 1$"
    ),
    "checksum_of_extras": Damage(flip(EXTRAS, 2), CORRUPT, "extras has checksum"),
    "directory_overlap": Damage(moved(LEVEL_2, -8), CORRUPT, "entry 2 starts at byte .*, expected"),
    "directory_gap": Damage(moved(LEVEL_1, 8), CORRUPT, "entry 1 starts at byte .*, expected"),
    "directory_kind": Damage(
        entry(LEVEL_1, kind=3), CORRUPT, "entry 1 is of kind 3, level 1; expected kind 2"
    ),
    "directory_level": Damage(entry(LEVEL_2, level=1), CORRUPT, "entry 2 is of kind 2, level 1; .* level 2"),
    "directory_reserved": Damage(entry(EXTRAS, reserved=9), CORRUPT, "entry 3 has 0x9 in its reserved"),
    "preamble_too_long": Damage(entry(LEVEL_1, preamble=2**20), CORRUPT, "entry 1 has a preamble of 1048576"),
    "preamble_of_table": Damage(entry(TABLE, preamble=1), CORRUPT, "entry 0 has a preamble of 1 .* most 0"),
    "preamble_not_counted": Damage(entry(LEVEL_1, preamble=1), CORRUPT, "add up to .* bytes of level 1"),
    "length_of_table": Damage(longer(TABLE, 2**30), CORRUPT, "entry 0 is of .* over the limit of 1073741824"),
    "length_of_record": Damage(longer(LEVEL_1, 2**38), CORRUPT, "entry 1 is of .* over the limit"),
    "length_near_2_to_64": Damage(
        entry(EXTRAS, length=2**64 - 1), CORRUPT, "entry 3 is of 18446744073709551615"
    ),
    "table_empty": Damage(body(TABLE, lambda t: b""), CORRUPT, "it is no Arrow stream"),
    "table_no_arrow": Damage(body(TABLE, lambda t: b"label,1\n" * 9), CORRUPT, "it is no Arrow stream"),
    "table_cut": Damage(body(TABLE, lambda t: t[:-200]), CORRUPT, "it is no Arrow stream"),
    "table_with_tail": Damage(body(TABLE, lambda t: t + b"tail"), CORRUPT, r"it ends at byte \d+ of"),
    "table_in_two_batches": Damage(table(same, batches=2), CORRUPT, "messages schema, record batch, record"),
    "table_compressed": Damage(table(same, compression="lz4"), CORRUPT, "it holds compressed buffers"),
    "table_dictionary": Damage(
        table(with_column("label", pa.array(["x", "y"]).dictionary_encode())),
        CORRUPT,
        "it holds the messages schema, dictionary",
    ),
    "column_missing": Damage(table(drop("_codec")), CORRUPT, "its column _codec is missing"),
    "column_type": Damage(
        table(with_column("_width", [8, 0], pa.int32())), CORRUPT, "_width is of type int32"
    ),
    "column_list_size": Damage(
        table(with_column("_checksums", [[1], [2]], pa.list_(pa.uint32(), 1))),
        CORRUPT,
        "_checksums is of type",
    ),
    "column_nulls": Damage(table(with_cell("_codec", 0, None)), CORRUPT, "its column _codec has nulls"),
    "column_nulls_of_key": Damage(table(with_cell("_key", 1, None)), CORRUPT, "its column _key has nulls"),
    "column_nulls_inside": Damage(table(nulls_in_lengths), CORRUPT, "its column _lengths has nulls"),
    "column_twice": Damage(table(doubled), CORRUPT, "two columns of one name"),
    "key_no_utf8": Damage(table(bad_utf8), CORRUPT, "it is no Arrow stream: .*UTF8"),
    "lengths_short": Damage(table(swapped_lengths), CORRUPT, "add up to .* bytes of level 1, which has"),
    "lengths_huge": Damage(table(with_cell("_lengths", 1, [2**32 - 1, 0])), CORRUPT, "add up to 42949"),
    "extras_short": Damage(table(with_cell("_trailing", 0, 0)), CORRUPT, "add up to .* bytes of extras"),
    "extras_huge": Damage(table(with_cell("_metadata", 0, 2**64 - 1)), CORRUPT, "_metadata claims more than"),
    "codec_unknown": Damage(
        table(with_cell("_codec", 0, 2)), UNSUPPORTED, "codec 2, but this release knows 0"
    ),
    "orientation_0": Damage(
        table(with_cell("_orientation", 1, 0)), CORRUPT, "sample 1 .* orientation outside"
    ),
    "orientation_9": Damage(
        table(with_cell("_orientation", 0, 9)), CORRUPT, "sample 0 .* orientation outside"
    ),
    "jpeg_without_size": Damage(
        table(with_cell("_height", 0, 0)), CORRUPT, "sample 0 is a jpeg of an impossible"
    ),
    "jpeg_too_wide": Damage(
        table(with_cell("_width", 0, 65536)), CORRUPT, "sample 0 is a jpeg of an impossible"
    ),
    "jpeg_without_level_1": Damage(
        table(with_cell("_lengths", 0, [0, 1])), CORRUPT, "sample 0 is a jpeg without"
    ),
    "raw_in_two_levels": Damage(
        table(with_cell("_codec", 0, 0)), CORRUPT, "sample 0 is a raw sample with bytes"
    ),
    "raw_with_extras": Damage(
        table(lambda t: with_cell("_trailing", 1, 3)(with_cell("_trailing", 0, 0)(t))),
        CORRUPT,
        "sample 1 is a raw sample with extras",
    ),
    "field_named_image": Damage(table(with_column("image", [1, 2], pa.int8())), CORRUPT, "field 'image'"),
    "field_of_union": Damage(table(union_column), UNSUPPORTED, "field 'choice' is of type sparse_union"),
    "field_of_nulls_in_lists": Damage(table(unit_vectors), UNSUPPORTED, "field 'bomb' is of type list"),
}
