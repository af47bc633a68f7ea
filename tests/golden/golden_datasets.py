"""One damaged data set for every rule about how its files go together, each made from the example."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from golden_parts import Parts, flipped, read_stream, sign_manifest, with_cell, with_table, write_stream, xxh3

JSON, INDEX, RECORD = "dataset.json", "index.arrow", "records/00000.pcr"
CORRUPT, UNSUPPORTED, CUT, NONE = "CorruptRecord", "UnsupportedFormat", "NeedMoreBytes", "NotADataset"

GONE = object()  # in place of a value: the key is left out

Files = dict[str, bytes]
Changes = dict[str, bytes | None]


@dataclass(frozen=True)
class Mix:
    """Which files change and how (None: it is gone), the error that it gives, and what the message says."""

    make: Callable[[Files], Changes]
    error: str
    match: str


def edit(old: str, new: str, *, signed: bool = True) -> Callable[[Files], Changes]:
    """Other text in dataset.json."""

    def make(files: Files) -> Changes:
        text = files[JSON].replace(old.encode(), new.encode(), 1)
        if text == files[JSON]:
            raise ValueError(f"{old!r} is not in {JSON}")
        return {JSON: sign_manifest(text) if signed else text}

    return make


def set_keys(**changes: Any) -> Callable[[Files], Changes]:
    """Other values in dataset.json, signed again."""

    def make(files: Files) -> Changes:
        about = {**json.loads(files[JSON]), **changes}
        about["xxh3"] = about.pop("xxh3")
        kept = {key: value for key, value in about.items() if value is not GONE}
        return {JSON: sign_manifest(json.dumps(kept, indent=2).encode() + b"\n")}

    return make


def with_index(files: Files, index: bytes) -> Changes:
    """Another index, and a dataset.json that agrees with it."""
    about = {"bytes": len(index), "xxh3": f"{xxh3(index):016x}"}
    return {INDEX: index, **set_keys(index=about)(files)}


def index_table(change: Callable[[pa.Table], pa.Table]) -> Callable[[Files], Changes]:
    return lambda files: with_index(files, write_stream(change(read_stream(files[INDEX]))))


def ends(**at: int) -> Callable[[pa.Table], pa.Table]:
    """Other section ends in the only row of the index."""

    def change(table: pa.Table) -> pa.Table:
        values = table.column("ends").to_pylist()[0]
        for key, value in at.items():
            values[int(key[1:])] = value
        return with_cell("ends", 0, values)(table)

    return change


def foreign(files: Files) -> Changes:
    """A record of another data set, with an index that fits it."""
    parts = Parts.of(files[RECORD])
    parts.header["dataset_id"] = b"another data set"
    record = parts.signed()
    checksum = Parts.of(record).header["checksum"]
    index = write_stream(with_cell("checksum", 0, checksum)(read_stream(files[INDEX])))
    return {RECORD: record, **with_index(files, index)}


def relabelled(files: Files) -> Changes:
    """A sound record of the same data set, but not the one that the index means."""
    return {RECORD: with_table(files[RECORD], with_cell("label", 0, 1))}


def wrong_slice(files: Files) -> Changes:
    """Sections are right, but a slice is not what the sample table says of it."""
    record = with_table(files[RECORD], with_cell("_checksums", 1, [1, 0]))
    checksum = Parts.of(record).header["checksum"]
    index = write_stream(with_cell("checksum", 0, checksum)(read_stream(files[INDEX])))
    return {RECORD: record, **with_index(files, index)}


DATASETS: dict[str, Mix] = {
    "json_missing": Mix(lambda f: {JSON: None}, NONE, "no complete data set here"),
    "json_empty": Mix(lambda f: {JSON: b""}, CORRUPT, "0 bytes that do not end with their checksum"),
    "json_cut": Mix(lambda f: {JSON: f[JSON][:-40]}, CORRUPT, "do not end with their checksum"),
    "json_longer": Mix(lambda f: {JSON: f[JSON] + b"\n"}, CORRUPT, "do not end with their checksum"),
    "json_edited": Mix(edit('"num_samples": 2', '"num_samples": 3', signed=False), CORRUPT, "or was edited"),
    "json_flipped": Mix(lambda f: {JSON: flipped(f[JSON], 200)}, CORRUPT, "has checksum .* but says"),
    "json_newer": Mix(set_keys(version=2), UNSUPPORTED, "format version 2, .* install a newer"),
    "json_version_true": Mix(set_keys(version=True), CORRUPT, "version True"),
    "json_version_0": Mix(set_keys(version=0), CORRUPT, "version 0"),
    "json_other_format": Mix(set_keys(format="zarr"), CORRUPT, "format 'zarr'"),
    "json_no_json": Mix(edit('"id": ', '"id"; '), CORRUPT, "is no JSON"),
    "json_no_utf8": Mix(
        lambda f: {JSON: sign_manifest(f[JSON][:20] + b"\xff" + f[JSON][20:])}, CORRUPT, "no JSON"
    ),
    "json_list": Mix(
        lambda f: {JSON: sign_manifest(b'["xxh3": "' + b"0" * 16 + b'"\n}\n')}, CORRUPT, "is no JSON"
    ),
    "json_key_missing": Mix(set_keys(levels=GONE), CORRUPT, "no 'levels'"),
    "json_no_levels": Mix(set_keys(levels=[]), CORRUPT, "0 levels"),
    "json_count_negative": Mix(set_keys(source_bytes=-1), CORRUPT, "-1 where a whole number"),
    "json_count_text": Mix(set_keys(num_records="1"), CORRUPT, "'1' where a whole number"),
    "json_id_short": Mix(set_keys(id="00"), CORRUPT, "id of 1 bytes"),
    "json_samples": Mix(set_keys(num_samples=3), CORRUPT, "2 samples in all, but dataset.json says 3"),
    "json_level_bytes": Mix(edit('"bytes": ', '"bytes": 1'), CORRUPT, "bytes of level 1 in all"),
    "json_fields": Mix(edit('"name": "label"', '"name": "class"'), CORRUPT, r"has the fields \['label'\]"),
    "index_missing": Mix(lambda f: {INDEX: None}, CORRUPT, "index.arrow: missing"),
    "index_flipped": Mix(lambda f: {INDEX: flipped(f[INDEX], 300)}, CORRUPT, "index.arrow: has checksum"),
    "index_cut": Mix(lambda f: {INDEX: f[INDEX][:-64]}, CORRUPT, "bytes, but the .* dataset.json says"),
    "index_longer": Mix(lambda f: {INDEX: f[INDEX] + b"\0"}, CORRUPT, "more than the .* bytes"),
    "index_no_arrow": Mix(lambda f: with_index(f, b"records\n"), CORRUPT, "it is no Arrow stream"),
    "index_columns": Mix(index_table(lambda t: t.drop_columns(["checksum"])), CORRUPT, "it has the columns"),
    "index_backwards": Mix(index_table(ends(_1=230, _2=229)), CORRUPT, "sections run backwards"),
    "index_before_table": Mix(index_table(ends(_0=100)), CORRUPT, "sections run backwards"),
    "index_too_long": Mix(index_table(ends(_3=2**38 + 1)), CORRUPT, "over the limit of 274877906944"),
    "index_samples": Mix(index_table(with_cell("num_samples", 0, 2**25)), CORRUPT, "33554432 samples, over"),
    "index_of_others": Mix(
        index_table(with_cell("checksum", 0, 7)), CORRUPT, "the index says 0000000000000007"
    ),
    "record_missing": Mix(lambda f: {RECORD: None}, CORRUPT, "00000.pcr: missing"),
    "record_cut": Mix(lambda f: {RECORD: f[RECORD][:-9]}, CUT, "read or copy the rest"),
    "record_foreign": Mix(foreign, CORRUPT, "belongs to data set 616e6f74686572"),
    "record_other": Mix(relabelled, CORRUPT, "it is another record or an older one"),
    "record_slice": Mix(wrong_slice, CORRUPT, r"sample 1 \(b/note.txt\): level 1 has checksum"),
}
