"""Cut anywhere, a valid record is complete at the fidelities below the cut and needs more for those above."""

from __future__ import annotations

from pathlib import Path

import plain_reader
import pytest

from halfbyte.errors import NeedMoreBytes
from halfbyte.format.header import HEADER, header_bytes, parse_header
from halfbyte.records.record import parse_record, parse_table

HERE = Path(__file__).parent
RECORDS = sorted(HERE.glob("valid/*/records/*.pcr"))
NAMES = [str(path.relative_to(HERE / "valid")) for path in RECORDS]
WHOLE = 99  # stands for: all levels and the extras


def expected_need(data: bytes, cut: int, asked: int) -> int:
    """Section 7 of the page."""
    if cut < HEADER.size:
        return HEADER.size
    end = header_bytes(parse_header(data, where="whole").num_levels)
    return end if cut < end else asked


def ends_of(data: bytes) -> dict[int, int]:
    header = parse_header(data, where="whole")
    ends = {k: header.prefix_bytes(k) for k in range(header.num_levels + 1)}
    return {**ends, WHOLE: header.file_bytes}


def cuts(data: bytes) -> list[int]:
    """Every byte; of the largest record every fourth, and all around the ends of sections."""
    if len(data) < 8000:
        return list(range(len(data)))
    near = {end + step for end in (8, *ends_of(data).values()) for step in range(-3, 3)}
    return sorted({*range(0, len(data), 4), *range(64), *near} & set(range(len(data))))


def read(data: bytes, fidelity: int, num_levels: int) -> int:
    k = num_levels if fidelity == WHOLE else fidelity
    return parse_record(data, fidelity=k, where="cut", extras=fidelity == WHOLE).fidelity


@pytest.mark.parametrize("path", RECORDS, ids=NAMES)
def test_every_level_end_is_a_complete_record(path: Path) -> None:
    data = path.read_bytes()
    whole = parse_record(data, fidelity=len(ends_of(data)) - 2, where="whole")
    for fidelity, end in ends_of(data).items():
        if fidelity == WHOLE:
            continue
        record = parse_record(data[:end], fidelity=fidelity, where="prefix")
        for index in range(len(record)):
            assert record.slices(index) == whole.slices(index)[:fidelity]
            assert repr(record.fields(index)) == repr(whole.fields(index))


@pytest.mark.parametrize("path", RECORDS, ids=NAMES)
def test_every_cut_below_asks_for_more(path: Path) -> None:
    data = path.read_bytes()
    ends = ends_of(data)
    for cut in cuts(data):
        above = [fidelity for fidelity, end in ends.items() if end > cut]
        fidelity = above[cut // 8 % len(above) if cut % 8 > 3 else 0]  # the next one, and all others in turn
        with pytest.raises(NeedMoreBytes) as caught:
            read(data[:cut], fidelity, len(ends) - 2)
        assert (caught.value.have, caught.value.need) == (cut, expected_need(data, cut, ends[fidelity]))
        assert "read or copy the rest of the file" in str(caught.value)


@pytest.mark.parametrize("path", RECORDS, ids=NAMES)
def test_what_is_needed_is_enough(path: Path) -> None:
    data = path.read_bytes()
    ends = ends_of(data)
    for fidelity, end in ends.items():
        have, reads = 0, 0
        while True:
            try:
                read(data[:have], fidelity, len(ends) - 2)
                break
            except NeedMoreBytes as error:
                have, reads = error.need, reads + 1
        assert (have, reads) == (end, 3)  # header, directory, the rest


def test_the_table_alone_asks_for_its_own_end() -> None:
    data = RECORDS[0].read_bytes()
    with pytest.raises(NeedMoreBytes, match="sample table ends at byte") as caught:
        parse_table(data[:300], where="cut")
    assert caught.value.need == ends_of(data)[0]


@pytest.mark.parametrize("path", RECORDS, ids=NAMES)
def test_the_plain_reader_agrees_on_every_cut(path: Path) -> None:
    data = path.read_bytes()
    ends = ends_of(data)
    for cut in range(0, len(data), 7 if len(data) > 4000 else 2):
        fidelity = next(fidelity for fidelity, end in ends.items() if end > cut)
        k = len(ends) - 2 if fidelity == WHOLE else fidelity
        with pytest.raises(plain_reader.NeedMore) as caught:
            plain_reader.read_record(data[:cut], k, extras=fidelity == WHOLE)
        assert (caught.value.have, caught.value.need) == (cut, expected_need(data, cut, ends[fidelity]))
