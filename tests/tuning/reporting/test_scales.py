"""Round numbers."""

from __future__ import annotations

import pytest

from halfbyte.tuning.reporting.scales import (
    format_bytes,
    format_number,
    format_seconds,
    format_share,
    ticks,
    time_unit,
)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (0.53, 0.91, [0.6, 0.7, 0.8, 0.9]),
        (-3, 7, [-2, 0, 2, 4, 6]),
        (9.1e6, 10.7e6, [9.5e6, 10e6, 10.5e6]),
        (4, 4, [4]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high, 6) == pytest.approx(expected)


def test_ticks_are_never_more_than_asked_for() -> None:
    for high in range(1, 400):
        assert 2 <= len(ticks(0, high / 7, 5)) <= 5


def test_quantities_are_written_as_people_do() -> None:
    assert [format_number(v) for v in (0.9312, 12.5, 1234, 12_345, 9.81e6, 2.5e9, -0.5)] == [
        *("0.931", "12.5", "1234", "12.3 k", "9.81 M", "2.5 G", "-0.5")
    ]
    assert [format_bytes(v) for v in (0, 12, 1500, 123_456, 9.81e6, 2.5e12)] == [
        *("0 B", "12 B", "1.5 kB", "123 kB", "9.81 MB", "2.5 TB")
    ]
    assert [format_seconds(v) for v in (0, 4.236, 60, 200, 3600, 7500)] == [
        *("0 s", "4.24 s", "1 min", "3 min 20 s", "1 h", "2 h 5 min")
    ]
    assert format_share(0.374) == "37 %"


def test_time_is_told_in_the_unit_that_fits() -> None:
    assert [time_unit(s)[0] for s in (1, 179, 180, 10_799, 10_800, 259_200)] == [
        *("s", "s", "min", "min", "h", "d")
    ]
