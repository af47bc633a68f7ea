"""Which columns users may have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from halfbyte.format.fields import FieldTypeError, check_fields

FLOAT_LIST = pa.list_(pa.float32())


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.string(), pa.large_string()),
        *(pa.binary(), pa.large_binary(), pa.date32(), pa.date64(), pa.time32("ms"), pa.time64("ns")),
        *(pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.duration("ms"), pa.null()),
        *(FLOAT_LIST, pa.large_list(FLOAT_LIST), pa.list_(FLOAT_LIST, 4), pa.struct([("x", FLOAT_LIST)])),
    ],
    ids=str,
)
def test_sound_types_are_taken(kind: pa.DataType) -> None:
    check_fields(pa.schema([("field", kind)]))


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.dictionary(pa.int8(), pa.string()), pa.map_(pa.string(), pa.int8()), pa.binary(4)),
        *(pa.list_(pa.null()), pa.list_(pa.null(), 3), pa.list_(pa.int8(), 0), pa.struct([])),
        *(pa.list_(pa.struct([])), pa.struct([("x", pa.null())]), pa.list_(pa.list_(pa.int8(), 0))),
        *(pa.string_view(), pa.binary_view(), pa.list_view(pa.int8()), pa.month_day_nano_interval()),
        *(pa.decimal128(5), pa.run_end_encoded(pa.int32(), pa.int8()), pa.uuid(), pa.bool8()),
        *(pa.dense_union([pa.field("x", pa.int8())]), pa.fixed_shape_tensor(pa.int8(), [2])),
    ],
    ids=str,
)
def test_types_that_cost_nothing_or_do_more_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(FieldTypeError, match=r"field 'field' is of type .*; use numbers, strings"):
        check_fields(pa.schema([("field", kind)]))


@pytest.mark.parametrize("name", ["", "image", "_codec", "_anything", "_"])
def test_reserved_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"field '{name}': names are not empty, .*; rename the field"):
        check_fields(pa.schema([(name, pa.int8())]))


@pytest.mark.parametrize("name", ["label", "Image", "a_b", "größe", "key", " ", "a.b/c"])
def test_other_names_are_taken(name: str) -> None:
    check_fields(pa.schema([(name, pa.int8())]))
