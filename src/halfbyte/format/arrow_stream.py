"""Arrow IPC streams from untrusted bytes: looked at before Arrow allocates for them, validated after.

Arrow allocates what a compressed buffer claims to hold, so a few bytes can ask for all memory. Uncompressed
buffers are views of the bytes at hand and cannot. The format forbids compression, dictionaries and more
than one batch; here that is checked.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from halfbyte.format.buffers import Buffer

__all__ = ["MAX_ARROW_METADATA_BYTES", "fixed_width", "read_table", "write_table"]

# A schema costs Arrow some twenty times its bytes in memory, so the bytes are capped.
MAX_ARROW_METADATA_BYTES = 1 << 22
_MESSAGES = ("schema", "record batch")

# Field numbers in the tables of Arrow's Message.fbs.
_MESSAGE_HEADER = 2
_RECORD_BATCH_COMPRESSION = 3


def write_table(table: pa.Table) -> bytes:
    """One record batch (none if there are no rows) as an uncompressed Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    data: bytes = sink.getvalue().to_pybytes()
    return data


def read_table(data: Buffer) -> pa.Table:
    """The table of a stream that holds nothing else, with every value validated.

    Raises:
        ValueError: the bytes are no such stream; the message continues "it …".
    """
    try:
        _refuse_expansion(data)
        # One thread: a process that forks later should find no pool of Arrow's.
        options = pa.ipc.IpcReadOptions(use_threads=False)
        with pa.ipc.open_stream(pa.py_buffer(data), options=options) as stream:
            table = stream.read_all()
        table.validate(full=True)
        if len(set(table.column_names)) != table.num_columns:
            raise ValueError("it has two columns of one name")
    # Arrow's own MemoryError is an ArrowException too, but says nothing about the bytes.
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        said = lines[0] if lines[0].startswith("it ") else f"it is no Arrow stream: {lines[0]}"
        raise ValueError(said) from error
    return table


def fixed_width(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """A column of numbers as (n,), or of lists of k numbers as (n, k), without copies.

    Raises:
        ValueError: it has nulls.
    """
    column = table.column(name)
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    shape = [len(array)]
    nulls = array.null_count
    if pa.types.is_fixed_size_list(column.type):
        shape.append(column.type.list_size)
        array = array.flatten()
        nulls += array.null_count
    if nulls:
        raise ValueError(f"its column {name} has nulls")
    values: npt.NDArray[Any] = array.to_numpy()
    return values.reshape(shape)


def _refuse_expansion(data: Buffer) -> None:
    source = pa.BufferReader(data)
    kinds = []
    for message in pa.ipc.MessageReader.open_stream(source):
        kinds.append(message.type)
        if tuple(kinds) != _MESSAGES[: len(kinds)]:
            raise ValueError(f"it holds the messages {', '.join(kinds)}; expected {', '.join(_MESSAGES)}")
        metadata = message.metadata
        if metadata.size > MAX_ARROW_METADATA_BYTES:
            raise ValueError(
                f"it holds {metadata.size} bytes of metadata, over the limit of {MAX_ARROW_METADATA_BYTES}"
            )
        if message.type == "record batch" and _is_compressed(metadata.to_pybytes()):
            raise ValueError("it holds compressed buffers")
    if source.tell() != len(data):
        raise ValueError(f"it ends at byte {source.tell()} of {len(data)}")


def _is_compressed(metadata: bytes) -> bool:
    try:
        root: int = struct.unpack_from("<I", metadata)[0]
        header = _field(metadata, root, _MESSAGE_HEADER)
        if header is None:
            raise ValueError("it holds a message without a header")
        batch = header + struct.unpack_from("<I", metadata, header)[0]
        return _field(metadata, batch, _RECORD_BATCH_COMPRESSION) is not None
    except struct.error as error:
        raise ValueError("it holds a message that ends too early") from error


def _field(metadata: bytes, table: int, number: int) -> int | None:
    """Position of a field of a FlatBuffers table, None where it is absent (flatbuffers.dev, "Internals")."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    if vtable < 0:
        raise ValueError("it holds a table without a layout")
    size = struct.unpack_from("<H", metadata, vtable)[0]
    slot = 4 + 2 * number
    if slot + 2 > size:
        return None
    offset: int = struct.unpack_from("<H", metadata, vtable + slot)[0]
    return table + offset if offset else None
