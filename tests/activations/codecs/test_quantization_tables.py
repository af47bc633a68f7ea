"""Quantization tables against where they come from."""

from __future__ import annotations

import math

import pytest

from halfbyte.activations.codecs.quantization_tables import (
    OPT_H,
    OPT_L,
    OPT_S_H,
    OPT_S_L,
    Table,
    checked_table,
    jpeg,
    steps,
)

ALL = (OPT_L, OPT_H, OPT_S_L, OPT_S_H)


def entries(table: Table) -> list[int]:
    return [entry for row in table for entry in row]


@pytest.mark.parametrize("table", ALL)
def test_published_tables_keep_the_mean_and_fall_with_frequency(table: Table) -> None:
    assert checked_table(table) == table
    assert table[0][0] == 8
    for line in (*table, *zip(*table, strict=True)):
        assert list(line[1:]) == sorted(line[1:], reverse=True)


def test_published_powers_of_two_follow_from_the_tables_but_for_optl() -> None:
    assert steps(OPT_H, "shift") == tuple(entries(OPT_S_H))
    assert entries(OPT_S_L) == [8] * 64
    assert dict(zip(entries(OPT_L), steps(OPT_L, "shift"), strict=True)) == {8: 8, 7: 8, 6: 8, 5: 4}


@pytest.mark.parametrize("table", [*ALL, jpeg(1), jpeg(50), jpeg(80)])
def test_shifts_are_the_nearest_powers_of_two(table: Table) -> None:
    for entry, step in zip(entries(table), steps(table, "shift"), strict=True):
        assert step == 2 ** round(math.log2(step))
        assert 2**-0.5 <= step / entry <= 2**0.5
    assert steps(table, "divide") == tuple(entries(table))


def test_jpeg_tables_are_those_of_libjpeg() -> None:
    assert jpeg(50)[0] == (16, 11, 10, 16, 24, 40, 51, 61)
    assert jpeg(50)[7] == (72, 92, 95, 98, 112, 100, 103, 99)
    assert jpeg(75)[0] == (8, 6, 5, 8, 12, 20, 26, 31)
    assert jpeg(10)[0] == (80, 55, 50, 80, 120, 200, 255, 255)
    assert set(entries(jpeg(100))) == {1}
    assert set(entries(jpeg(1))) == {255}
    assert checked_table("jpeg75") == jpeg(75)


@pytest.mark.parametrize("quality", [0, 101, -5])
def test_jpeg_refuses_other_qualities(quality: int) -> None:
    with pytest.raises(ValueError, match=f"quality is {quality}, expected 1 to 100"):
        jpeg(quality)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("optX", "table is 'optX', expected one of optL"),
        ("jpeg0", "quality is 0"),
        (((8,) * 8,) * 7, "expected 8 rows of 8"),
        (((8,) * 7,) * 8, "expected 8 rows of 8"),
        (((8,) * 8,) * 7 + ((8,) * 7 + (0,),), "an entry 0, expected integers from 1 to 255"),
        (((8,) * 8,) * 7 + ((8,) * 7 + (256,),), "an entry 256"),
        (((8.5,) * 8,) * 8, "an entry 8.5"),
    ],
)
def test_what_is_no_table_is_refused(table: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked_table(table)  # type: ignore[arg-type]


def test_tables_of_lists_become_tuples() -> None:
    assert checked_table([list(row) for row in OPT_H]) == OPT_H
