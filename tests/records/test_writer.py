"""encode_record: what it lays out, and what it refuses to write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from record_samples import DATASET_ID, SCHEMA, encode, fake_jpeg, joined, padded, records

from halfbyte.codecs.encoded import EncodedSample
from halfbyte.errors import SourceError
from halfbyte.format.index import IndexRow
from halfbyte.records.record import parse_record
from halfbyte.records.writer import encode_record

SAMPLE = fake_jpeg("a", np.random.default_rng(0), num_levels=3)


@given(records())
def test_what_goes_in_comes_out(drawn: tuple[int, list[EncodedSample]]) -> None:
    num_levels, samples = drawn
    written = encode(samples, num_levels=num_levels)
    record = parse_record(
        joined(written), fidelity=num_levels, where="x", row=written.row, dataset_id=DATASET_ID, extras=True
    )
    assert len(record) == len(samples)
    for index, sample in enumerate(samples):
        assert [bytes(part) for part in record.slices(index)] == padded(sample, num_levels)
        assert record.extras(index) == (sample.metadata, sample.trailing)
        assert record.fields(index) == {name: sample.fields.get(name) for name in SCHEMA.names}
        assert record.table.keys[index].as_py() == sample.key
        record.check(index)
    for name in ("codec", "width", "height", "orientation", "source_bytes"):
        assert getattr(record.table, name).tolist() == [getattr(s, name) for s in samples]


@given(records())
def test_every_fidelity_is_a_prefix(drawn: tuple[int, list[EncodedSample]]) -> None:
    num_levels, samples = drawn
    written = encode(samples, num_levels=num_levels)
    for fidelity in range(num_levels + 1):
        data = joined(written)[: written.row.ends[fidelity]]
        record = parse_record(data, fidelity=fidelity, where="x", row=written.row)
        for index, sample in enumerate(samples):
            assert [bytes(part) for part in record.slices(index)] == padded(sample, num_levels)[:fidelity]


def test_slices_are_not_copied() -> None:
    sample = replace(SAMPLE, slices=(b"first", bytearray(b"second"), memoryview(b"third")))
    parts = encode([sample], num_levels=3).parts
    assert all(any(part is own for part in parts) for own in sample.slices)


def test_the_row_is_that_of_the_header() -> None:
    written = encode([SAMPLE, SAMPLE], num_levels=3)
    record = parse_record(joined(written), fidelity=3, where="x")
    assert written.row == IndexRow.of(record.header)
    assert written.row.ends[-1] == len(joined(written))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"slices": (b"1", b"2", b"3", b"4")}, "more slices than the 3 levels"),
        ({"slices": (b"", b"2")}, "sample 1 is a jpeg without level 1"),
        ({"width": 0}, "sample 1 is a jpeg of an impossible size"),
        ({"orientation": 9}, "sample 1 is turned to an orientation outside 1 to 8"),
        ({"codec": 0}, "sample 1 is a raw sample with bytes beyond level 1"),
        ({"codec": 7}, "codec 7"),
        ({"key": None}, "_key has nulls"),
    ],
)
def test_what_no_reader_takes_is_not_written(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        encode([SAMPLE, replace(SAMPLE, **changes)], num_levels=3)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"label": "three"}, "field 'label' has a value that is no int64 .*; correct it"),
        ({"label": 2**63}, "field 'label' has a value that is no int64"),
        ({"caption": 5}, "field 'caption' has a value that is no string"),
        ({"caption": "\ud800"}, "field 'caption' has a value that is no string"),
        (
            {"labels": 3},
            r"samples with fields \['labels'\] that are not in the schema \['label', 'caption'\]",
        ),
    ],
)
def test_values_without_a_place_are_named(fields: dict[str, Any], match: str) -> None:
    with pytest.raises(SourceError, match=match):
        encode([replace(SAMPLE, fields=fields)], num_levels=3)


@pytest.mark.parametrize(
    ("name", "kind", "match"),
    [("_key", pa.string(), "rename the field"), ("x", pa.list_(pa.null()), "use numbers, strings")],
)
def test_fields_that_the_format_lacks_are_named(name: str, kind: pa.DataType, match: str) -> None:
    with pytest.raises(SourceError, match=match):
        encode([replace(SAMPLE, fields={})], num_levels=3, schema=pa.schema([(name, kind)]))


def test_an_empty_record_is_a_record() -> None:
    written = encode([], num_levels=2)
    record = parse_record(joined(written), fidelity=2, where="x", row=written.row, extras=True)
    assert (len(record), record.table.lengths.shape, record.table.fields.num_rows) == (0, (0, 2), 0)


def test_an_id_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="data set id of 3 bytes"):
        encode_record([], schema=SCHEMA, num_levels=1, dataset_id=b"abc")
