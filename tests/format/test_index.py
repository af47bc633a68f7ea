"""index.arrow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfbyte.errors import CorruptRecord
from halfbyte.format.checksum import section_checksum
from halfbyte.format.header import header_bytes
from halfbyte.format.index import Index, IndexRow, decode_index, encode_index, record_name


def read(data: bytes, num_levels: int) -> Index:
    return decode_index(data, num_levels=num_levels, checksum=section_checksum(data), where="index")


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, list[IndexRow]]:
    num_levels = draw(st.integers(1, 64))
    rows = []
    for _ in range(draw(st.integers(0, 6))):
        lengths = draw(st.lists(st.integers(0, 1 << 31), min_size=num_levels + 2, max_size=num_levels + 2))
        at, ends = header_bytes(num_levels), []
        for length in lengths:
            ends.append(at := at + length)
        rows.append(IndexRow(draw(st.integers(0, 1 << 24)), tuple(ends), draw(st.integers(0, 2**64 - 1))))
    return num_levels, rows


@given(tables())
def test_reads_what_it_wrote(table: tuple[int, list[IndexRow]]) -> None:
    num_levels, rows = table
    index = read(encode_index(rows, num_levels), num_levels)
    assert [index.row(i) for i in range(len(index))] == rows
    assert index.starts.tolist() == [sum(r.num_samples for r in rows[:i]) for i in range(len(rows) + 1)]
    assert index.ends.shape == (len(rows), num_levels + 2)


@pytest.mark.parametrize("num_levels", [1, 3])
def test_another_number_of_levels_is_refused(num_levels: int) -> None:
    data = encode_index([IndexRow(1, (300, 301, 302, 303), 5)], 2)
    with pytest.raises(CorruptRecord, match=r"it has the columns .*\[4\].*; expected"):
        read(data, num_levels)


@pytest.mark.parametrize(("number", "name"), [(0, "00000"), (99_999, "99999"), (123_456, "123456")])
def test_records_are_numbered(number: int, name: str) -> None:
    assert record_name(number) == f"records/{name}.pcr"
