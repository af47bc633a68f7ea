"""dataset.json."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from golden_parts import sign_manifest
from hypothesis import given
from hypothesis import strategies as st

from halfbyte.errors import CorruptRecord, UnsupportedFormat
from halfbyte.format import manifest as module
from halfbyte.format.manifest import (
    Field,
    Level,
    Manifest,
    Quality,
    parse_manifest,
    serialize_manifest,
)

PLAIN = Manifest(
    dataset_id=bytes(range(16)),
    num_samples=3,
    num_records=1,
    classes=("cat", "größer 🛶"),
    fields=(Field("label", "int64"), Field("caption", "string")),
    levels=(Level("DC", 100), Level("rest", 900)),
    scan_script={"name": "two", "gray": [[1, 2], [3]]},
    source_bytes=1111,
    overhead_bytes=50,
    extras_bytes=7,
    codecs={"jpeg": 2, "raw": 1},
    quality=Quality("ms-ssim", 3, (0.5, 1.0), (0.25, 1.0)),
    index_bytes=640,
    index_checksum=0x00AB,
    provenance={"xxh3": "0123456789abcdef", "settings": {"seed": 0}},
)


def edited(**changes: Any) -> bytes:
    body = {**json.loads(serialize_manifest(PLAIN)), **changes}
    body["xxh3"] = body.pop("xxh3")
    return sign_manifest(json.dumps(body, indent=2).encode() + b"\n")


@given(
    classes=st.none() | st.lists(st.text(st.characters(codec="utf-8"))).map(tuple),
    counts=st.tuples(*[st.integers(0, 2**63 - 1)] * 4),
    identity=st.binary(min_size=16, max_size=16),
    quality=st.none() | st.just(PLAIN.quality),
)
def test_reads_what_it_wrote(
    classes: tuple[str, ...] | None, counts: tuple[int, ...], identity: bytes, quality: Quality | None
) -> None:
    written = replace(
        PLAIN, classes=classes, num_samples=counts[0], source_bytes=counts[1], quality=quality,
        dataset_id=identity, index_checksum=counts[2], index_bytes=counts[3],
    )  # fmt: skip
    assert parse_manifest(serialize_manifest(written), where="x") == written


def test_every_flipped_byte_is_found() -> None:
    text = serialize_manifest(PLAIN)
    for at in range(len(text)):
        for bit in (0x01, 0x20, 0x80):
            damaged = text[:at] + bytes([text[at] ^ bit]) + text[at + 1 :]
            with pytest.raises(CorruptRecord, match=r"^x: .*copy it again"):
                parse_manifest(damaged, where="x")


def test_every_cut_is_found() -> None:
    text = serialize_manifest(PLAIN)
    for length in range(len(text)):
        with pytest.raises(CorruptRecord, match="damaged or cut"):
            parse_manifest(text[:length], where="x")


def test_costs_follow_from_the_levels() -> None:
    assert [PLAIN.bytes_at(k) for k in (0, 1, 2)] == [50, 150, 1050]
    assert PLAIN.num_levels == 2


def test_unknown_keys_are_ignored() -> None:
    levels = [{"name": "DC", "bytes": 100, "colour": 1}, {"name": "rest", "bytes": 900}]
    assert parse_manifest(edited(later={"a": [1]}, levels=levels), where="x") == PLAIN


def test_an_unknown_measure_of_quality_is_none() -> None:
    parsed = parse_manifest(edited(quality={"measure": "vmaf", "scores": []}), where="x")
    assert parsed == replace(PLAIN, quality=None)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"classes": "cat"}, "'cat' where a list belongs"),
        ({"classes": [1]}, "1 where a string belongs"),
        ({"fields": [{"name": "label"}]}, "no 'type'"),
        ({"levels": [{"name": "DC", "bytes": 1.5}]}, "1.5 where a whole number"),
        ({"levels": [{"name": "x", "bytes": 0}] * 65}, "65 levels"),
        ({"source_bytes": 2**63}, "9223372036854775808 where a whole number"),
        ({"num_samples": True}, "True where a whole number"),
        ({"scan_script": []}, "where an object belongs"),
        ({"codecs": {"jpeg": -1}}, "-1 where a whole number"),
        ({"id": "zz" * 16}, "non-hexadecimal"),
        ({"index": {"bytes": 1, "xxh3": "zz"}}, "invalid literal"),
        ({"index": None}, "not subscriptable"),
        ({"quality": {"measure": "ms-ssim", "samples": 1, "mean": [1.0], "p10": [1.0]}}, "not one a level"),
        ({"quality": {"measure": "ms-ssim", "samples": 1, "mean": [9, 1], "p10": [1, 1]}}, "outside 0 to 1"),
    ],
)
def test_wrong_values_are_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(CorruptRecord, match=f"^x: is no description of a data set .*{match}"):
        parse_manifest(edited(**changes), where="x")


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"version": NaN, ', b'{"n": ' + b"9" * 5000 + b", "])
def test_hostile_json_is_refused(text: bytes) -> None:
    text = sign_manifest(text + b'"xxh3": "0000000000000000"\n}\n')
    with pytest.raises(CorruptRecord, match=r"^x: is no (JSON|description)"):
        parse_manifest(text, where="x")


def test_a_newer_version_is_named() -> None:
    with pytest.raises(UnsupportedFormat, match="format version 7, but this release reads version 1"):
        parse_manifest(edited(version=7, levels=None), where="x")


def test_more_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_MANIFEST_BYTES", 100)
    with pytest.raises(CorruptRecord, match="over the limit of 100"):
        parse_manifest(serialize_manifest(PLAIN), where="x")


def test_values_that_are_no_json_are_not_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        serialize_manifest(replace(PLAIN, provenance={"ratio": float("nan")}))
