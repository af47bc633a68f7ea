"""XXH3 as the format uses it."""

from __future__ import annotations

import pytest
import xxhash

from halfbyte.format.checksum import format_checksum, section_checksum, slice_checksum


def test_values_are_those_of_xxh3() -> None:
    # The first two are the reference implementation's own values for seed 0.
    assert section_checksum(b"") == 0x2D06800538D394C2
    assert section_checksum(b"a") == 0xE6C632B61E964E1F
    assert slice_checksum(b"a") == 0x1E964E1F


@pytest.mark.parametrize("parts", [(b"ab", b"c"), (b"", b"abc"), (b"a", bytearray(b"b"), memoryview(b"c"))])
def test_parts_count_as_one(parts: tuple[bytes, ...]) -> None:
    assert section_checksum(*parts) == section_checksum(b"abc") == xxhash.xxh3_64_intdigest(b"abc")


def test_shown_with_all_digits() -> None:
    assert format_checksum(0xAB) == "00000000000000ab"
