"""Arrow streams from untrusted bytes."""

from __future__ import annotations

import contextlib

import numpy as np
import pyarrow as pa
import pytest
from golden_parts import write_stream
from hypothesis import given
from hypothesis import strategies as st

from halfbyte.format.arrow_stream import MAX_ARROW_METADATA_BYTES, fixed_width, read_table, write_table

TABLE = pa.table(
    {
        "n": pa.array([1, 2, 3], pa.uint32()),
        "pair": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int64(), 2)),
        "text": ["a", None, "ccc"],
    }
)


def test_reads_what_it_wrote() -> None:
    assert read_table(write_table(TABLE)).equals(TABLE)
    assert read_table(write_table(TABLE[:0])).equals(TABLE[:0])


def test_writes_one_batch_of_many_chunks() -> None:
    assert read_table(write_table(pa.concat_tables([TABLE] * 5))).num_rows == 15


def test_gives_columns_as_arrays() -> None:
    table = read_table(write_table(TABLE))
    assert fixed_width(table, "n").tolist() == [1, 2, 3]
    pair = fixed_width(table, "pair")
    assert (pair.dtype, pair.tolist()) == (np.int64, [[1, 2], [3, 4], [5, 6]])
    empty = read_table(write_table(TABLE[:0]))
    assert (fixed_width(empty, "n").shape, fixed_width(empty, "pair").shape) == ((0,), (0, 2))


def test_gives_columns_without_copies() -> None:
    data = write_table(TABLE)
    whole = np.frombuffer(data, np.uint8)
    for name in ("n", "pair"):
        assert np.shares_memory(fixed_width(read_table(data), name), whole)


@pytest.mark.parametrize(
    "values", [pa.array([1, None]), pa.array([[1, None], [1, 1]], pa.list_(pa.int8(), 2))]
)
def test_columns_with_nulls_are_no_arrays(values: pa.Array) -> None:
    with pytest.raises(ValueError, match="its column x has nulls"):
        fixed_width(read_table(write_table(pa.table({"x": values}))), "x")


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compression_is_refused(compression: str) -> None:
    with pytest.raises(ValueError, match="it holds compressed buffers"):
        read_table(write_stream(TABLE, compression=compression))


def test_large_metadata_is_refused() -> None:
    small = {"k": "x" * (MAX_ARROW_METADATA_BYTES // 2)}
    assert read_table(write_table(TABLE.replace_schema_metadata(small))).equals(TABLE)
    with pytest.raises(ValueError, match=f"over the limit of {MAX_ARROW_METADATA_BYTES}"):
        read_table(write_table(TABLE.replace_schema_metadata({"k": "x" * MAX_ARROW_METADATA_BYTES})))


def test_a_pool_of_threads_is_never_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    open_stream = pa.ipc.open_stream

    def spy(source: object, *, options: pa.ipc.IpcReadOptions) -> object:
        asked.append(options.use_threads)
        return open_stream(source, options=options)

    monkeypatch.setattr(pa.ipc, "open_stream", spy)
    read_table(write_table(TABLE))
    assert asked == [False]


def test_running_out_of_memory_is_not_called_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(pa.ipc, "open_stream", exhausted)
    with pytest.raises(MemoryError, match="malloc"):
        read_table(write_table(TABLE))


@given(data=st.data())
def test_any_change_is_read_or_refused(data: st.DataObject) -> None:
    stream = bytearray(write_table(TABLE))
    for _ in range(data.draw(st.integers(1, 4))):
        stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        read_table(bytes(stream)).to_pylist()


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(junk: bytes) -> None:
    with pytest.raises(ValueError, match=r"^it "):
        read_table(junk)
