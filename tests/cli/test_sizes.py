from __future__ import annotations

import pytest

from halfbyte.cli.sizes import (
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    format_share,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("4096B", 4096),
        ("500kB", 500_000),
        ("100 MB", 100_000_000),
        ("32MiB", 32 << 20),
        ("1.5gib", 3 << 29),
        ("2M", 2_000_000),
        ("1Ki", 1024),
        (".5k", 500),
    ],
)
def test_sizes_are_read_as_written(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-5MB", "5 MBit", "1e6", "0", "0.1", "5MB MB", "٣MB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no size; write a number of bytes"):
        parse_size(text)


def test_sizes_are_written_short() -> None:
    sizes = [0, 999, 1000, 9994, 99_949, 999_949, 999_960, 5_421_000_000, 3e18]
    written = ["0 B", "999 B", "1.00 kB", "9.99 kB", "99.9 kB", "999.9 kB", "1.00 MB", "5.42 GB", "3000.0 PB"]
    assert [format_bytes(size) for size in sizes] == written
    assert format_rate(12_345_678) == "12.3 MB/s"


def test_shares_counts_and_durations() -> None:
    assert format_share(1, 3) == "33.3 %"
    assert format_share(1, 0) == "-"
    assert format_count(1, "entry", "entries") == "1 entry"
    assert format_count(5421, "sample") == "5,421 samples"
    assert [format_duration(s) for s in (0.421, 12.34, 250, 7500)] == [
        "0.42 s",
        "12.3 s",
        "4 min 10 s",
        "2 h 5 min",
    ]
