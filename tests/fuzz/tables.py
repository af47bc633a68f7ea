"""Sample tables that are sound Arrow but wrong in what they say, or of types that do not belong there."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from golden_parts import write_stream
from mutations import EDGES

__all__ = ["odd_table"]

SYSTEM = ("_codec", "_width", "_height", "_orientation", "_source_bytes", "_metadata", "_trailing")


def _nested(depth: int) -> pa.DataType:
    kind = pa.int8()
    for _ in range(depth):
        kind = pa.list_(kind)
    return kind


def _zoo(rows: int) -> list[Callable[[], pa.Array]]:
    """Columns of every kind of type that Arrow has."""
    numbers = pa.array(range(rows), pa.int32())
    texts = pa.array([f"text {i}" for i in range(rows)])
    return [
        texts.dictionary_encode,
        lambda: pa.array([{"a": i} for i in range(rows)]),
        lambda: pa.array([[("k", i)] for i in range(rows)], pa.map_(pa.string(), pa.int32())),
        lambda: pa.UnionArray.from_sparse(pa.array([0] * rows, pa.int8()), [numbers]),
        lambda: pa.UnionArray.from_dense(pa.array([0] * rows, pa.int8()), numbers, [numbers]),
        lambda: pa.array([[None] * 5] * rows, pa.list_(pa.null())),
        lambda: pa.array([[{}]] * rows, pa.list_(pa.struct([]))),
        lambda: pa.array([[]] * rows, pa.list_(pa.int8(), 0)),
        lambda: pa.nulls(rows),
        lambda: pa.nulls(rows, _nested(40)),
        lambda: pa.array([2**62] * rows, pa.int64()).view(pa.timestamp("s", "Mars/Base")),
        lambda: pa.array([-(2**31)] * rows, pa.int32()).view(pa.date32()),
        lambda: pa.array([b"1234"] * rows, pa.binary(4)),
        lambda: texts.cast(pa.string_view()),
        lambda: texts.cast(pa.large_string()),
        lambda: pa.array([[1], *[[2, 3]] * (rows - 1)][:rows], pa.list_view(pa.int8())),
        lambda: pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1] * rows, pa.int8())),
        lambda: pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * rows, pa.binary(16))),
        lambda: pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array(["x"])),
        lambda: pa.array([[[1.0, 2.0], []]] * rows, pa.large_list(pa.list_(pa.float16()))),
        lambda: pa.array([1] * rows, pa.decimal128(10, 2)),
    ]


def _set_value(table: pa.Table, rng: random.Random) -> pa.Table:
    name = rng.choice(SYSTEM)
    values = table.column(name).to_pylist()
    if values:
        bits = table.column(name).type.bit_width
        values[rng.randrange(len(values))] = rng.choice((*(v for v in EDGES if v < 2**bits), None))
    return _with(table, name, pa.array(values, table.column(name).type))


def _set_list(table: pa.Table, rng: random.Random) -> pa.Table:
    name = rng.choice(("_lengths", "_checksums"))
    values = table.column(name).to_pylist()
    if values:
        row = list(rng.choice(values))
        row[rng.randrange(len(row))] = rng.choice((*(v for v in EDGES if v < 2**32), None))
        values[rng.randrange(len(values))] = row
    return _with(table, name, pa.array(values, table.column(name).type))


def _cast(table: pa.Table, rng: random.Random) -> pa.Table:
    name = rng.choice(SYSTEM)
    kind = rng.choice((pa.int64(), pa.float64(), pa.string(), pa.uint16(), pa.bool_(), pa.null()))
    return _with(
        table, name, pa.nulls(len(table), kind) if rng.random() < 0.5 else pa.array([1] * len(table))
    )


def _drop(table: pa.Table, rng: random.Random) -> pa.Table:
    return table.drop_columns([rng.choice(table.column_names)]) if table.num_columns else table


def _add(table: pa.Table, rng: random.Random) -> pa.Table:
    name = rng.choice(("x", "label", "_key", "_lengths", "image", "", "_later", "a\0b"))
    return table.append_column(name, rng.choice(_zoo(len(table)))())


def _take(table: pa.Table, rng: random.Random) -> pa.Table:
    rows = (
        [rng.randrange(len(table)) for _ in range(rng.choice((0, 1, len(table), 50)))] if len(table) else []
    )
    # take() lacks kernels for some types.
    return pa.concat_tables([table[:0], *(table[i : i + 1] for i in rows)])


def _annotate(table: pa.Table, rng: random.Random) -> pa.Table:
    return table.replace_schema_metadata(
        {"k": "x" * rng.choice((0, 10, 70_000)), "ARROW:extension:name": "arrow.uuid"}
    )


def _with(table: pa.Table, name: str, array: pa.Array) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table if index < 0 else table.set_column(index, name, array)


def _pretend(table: pa.Table, rng: random.Random) -> pa.Table:
    """A column that claims to be of an extension type."""
    index = rng.randrange(table.num_columns)
    names = (
        "arrow.json",
        "arrow.uuid",
        "arrow.opaque",
        "arrow.fixed_shape_tensor",
        "arrow.py_extension_type",
    )
    claim = {
        "ARROW:extension:name": rng.choice(names),
        "ARROW:extension:metadata": rng.choice(("", "{}", "[[", "x")),
    }
    return table.set_column(index, table.schema.field(index).with_metadata(claim), table.column(index))


_CHANGES = (
    *(_set_value, _set_value, _set_list, _set_list, _cast, _drop),
    *(_add, _add, _take, _annotate, _pretend),
)


def odd_table(table: pa.Table, rng: random.Random) -> tuple[bytes, int]:
    """A stream of the table after some changes, and its number of rows."""
    for _ in range(rng.randint(1, 3)):
        # Not every change fits every table: a column may be gone, be there twice, or have another type.
        with contextlib.suppress(Exception):
            table = rng.choice(_CHANGES)(table, rng)
    how: dict[str, Any] = {"compression": rng.choice((None, None, None, None, "lz4", "zstd"))}
    how["batches"] = rng.choice((1, 1, 1, 1, 2, 9))
    return write_stream(table, **how), len(table)
