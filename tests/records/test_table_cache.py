"""TableCache."""

from __future__ import annotations

import pytest
from record_samples import encode, fake_records, joined

from halfbyte.format.header import Header
from halfbyte.format.sample_table import SampleTable
from halfbyte.records.record import parse_table
from halfbyte.records.table_cache import TableCache


@pytest.fixture
def table() -> tuple[Header, SampleTable]:
    return parse_table(joined(encode(fake_records([5], num_levels=2)[0], num_levels=2)), where="x")


def kept(cache: TableCache, among: int = 10) -> list[int]:
    return [record for record in range(among) if record in cache._tables]


def test_the_least_recently_used_goes(table: tuple[Header, SampleTable]) -> None:
    cache = TableCache(3 * table[1].nbytes)
    for record in range(3):
        cache.put(record, *table)
    assert cache.get(0) == table
    cache.put(3, *table)
    assert kept(cache) == [0, 2, 3]
    assert cache.get(1) is None


def test_bytes_are_counted(table: tuple[Header, SampleTable]) -> None:
    cache = TableCache(2 * table[1].nbytes)
    for record in (0, 1, 1, 2, 2, 3):
        cache.put(record, *table)
    assert cache.held_bytes == 2 * table[1].nbytes
    assert kept(cache) == [2, 3]


def test_a_table_over_the_limit_is_kept_alone(table: tuple[Header, SampleTable]) -> None:
    cache = TableCache(10)
    cache.put(0, *table)
    cache.put(1, *table)
    assert kept(cache) == [1]
