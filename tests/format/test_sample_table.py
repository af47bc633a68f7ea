"""The sample table: what the golden files leave open."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest
from golden_parts import with_column, with_table

from halfbyte.codecs.encoded import EncodedSample
from halfbyte.errors import CorruptRecord
from halfbyte.format.sample_table import SYSTEM_COLUMNS, encode_sample_table, system_schema
from halfbyte.records.record import Record, parse_record
from halfbyte.records.writer import encode_record


def record_of(values: list[Any], kind: pa.DataType) -> bytes:
    samples = [
        EncodedSample(f"k{i}", 0, (b"payload",), 0, 0, 1, 7, fields={"x": v}) for i, v in enumerate(values)
    ]
    schema = pa.schema([("x", kind)])
    encoded = encode_record(samples, schema=schema, num_levels=3, dataset_id=bytes(16))
    return b"".join(encoded.parts)


def parse(data: bytes) -> Record:
    return parse_record(data, fidelity=3, where="00007.pcr")


def test_columns_it_does_not_know_are_ignored() -> None:
    data = with_table(record_of([1, 2], pa.int8()), with_column("_later", [[None], []], pa.list_(pa.null())))
    assert parse(data).table.fields.column_names == ["x"]
    assert parse(data).fields(1) == {"x": 2}


def test_columns_may_stand_in_any_order() -> None:
    data = record_of([1, 2], pa.int8())
    turned = with_table(data, lambda table: table.select(sorted(table.column_names)))
    assert [parse(turned).fields(i) for i in range(2)] == [{"x": 1}, {"x": 2}]
    assert parse(turned).table.lengths.tolist() == parse(data).table.lengths.tolist()


def test_offsets_follow_from_lengths() -> None:
    table = parse(record_of([1, 2, 3], pa.int8())).table
    assert table.lengths.tolist() == [[7, 0, 0]] * 3
    assert table.offsets.tolist() == [[0, 0, 0], [7, 0, 0], [14, 0, 0]]
    assert table.extras_offsets.tolist() == [0, 0, 0]
    assert table.nbytes > 3 * 3 * 20


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (datetime.date(2026, 1, 2), pa.date32()),
        (datetime.timedelta(seconds=5), pa.duration("ms")),
        (datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), pa.timestamp("us", "UTC")),
        ({"a": [1, None], "b": "ü"}, pa.struct([("a", pa.list_(pa.int8())), ("b", pa.string())])),
        (None, pa.null()),
        (2.0**-24, pa.float16()),
    ],
)
def test_values_come_back_as_python_has_them(value: Any, kind: pa.DataType) -> None:
    assert parse(record_of([None, value], kind)).fields(1) == {"x": value}


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (pa.array([2**31 - 1], pa.int32()), pa.date32()),
        (pa.array([2**62], pa.int64()), pa.timestamp("s")),
        (pa.array([2**62], pa.int64()), pa.timestamp("us", "Nowhere/Land")),
        (pa.array([2**62], pa.int64()), pa.timestamp("us", "../../etc/passwd")),
        (pa.array([2**62], pa.int64()), pa.timestamp("us", "Europe")),
        (pa.array([2**63 - 1], pa.int64()), pa.duration("s")),
    ],
    ids=str,
)
def test_values_that_python_lacks_are_named(raw: pa.Array, kind: pa.DataType) -> None:
    data = with_table(record_of([1], raw.type), with_column("x", raw.view(kind)))
    with pytest.raises(
        CorruptRecord, match=r"^00007.pcr: sample 0 \(k0\): field x of type .* cannot be read"
    ):
        parse(data).fields(0)


def test_fields_of_one_name_inside_a_struct_are_named() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    data = with_table(record_of([1], pa.int8()), with_column("x", twice))
    with pytest.raises(CorruptRecord, match="field x of type struct<a: int64, a: int64> cannot be read"):
        parse(data).fields(0)


def test_reserved_names_are_not_written() -> None:
    system = system_schema(3).empty_table()
    with pytest.raises(ValueError, match="rename the field"):
        encode_sample_table(pa.table({"_x": pa.array([], pa.int8())}), system)


def test_system_columns_are_listed() -> None:
    assert tuple(system_schema(2).names) == SYSTEM_COLUMNS
