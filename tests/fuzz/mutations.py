"""Ways to damage bytes."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

__all__ = ["EDGES", "mutated"]

# Values at which signs, widths and limits change.
EDGES = (
    *(0, 1, 2, 3, 4, 7, 8, 16, 63, 64, 65, 66, 67, 127, 128, 255, 256, 65535, 65536),
    *(2**24 - 1, 2**24, 2**24 + 1, 2**30, 2**30 + 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32),
    *(2**38, 2**38 + 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 16, 2**64 - 1),
)


def flip_bits(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 5))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def set_byte(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 4, 8, 0x7F, 0x80, 0xFE, 0xFF, rng.randrange(256)))


def set_word(data: bytearray, rng: random.Random) -> None:
    """An edge value in two, four or eight bytes that are mostly aligned, as lengths and offsets are."""
    size = rng.choice((2, 4, 4, 8, 8))
    if len(data) < size:
        return
    at = rng.randrange(len(data) - size + 1)
    if rng.random() < 0.8:
        at -= at % size
    value = rng.choice(EDGES)
    if rng.random() < 0.3:
        (old,) = struct.unpack_from({2: "<H", 4: "<I", 8: "<Q"}[size], data, at)
        value = old + rng.choice((-8, -4, -1, 1, 4, 8))
    data[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def remove(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 2, 4, 8, 64))]


def insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice((bytes(8), b"\xff" * 8, rng.randbytes(rng.randrange(1, 40))))


def copy_within(data: bytearray, rng: random.Random) -> None:
    size = rng.randrange(1, min(64, len(data)) + 1)
    source, target = rng.randrange(len(data) - size + 1), rng.randrange(len(data) - size + 1)
    data[target : target + size] = data[source : source + size]


_KINDS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(flip_bits, flip_bits, set_byte, set_byte, set_word, set_word, set_word),
    *(cut, remove, insert, copy_within),
)


def mutated(data: bytes, rng: random.Random, *, other: bytes = b"", most: int = 4) -> bytes:
    """The bytes after one to ``most`` changes; now and then spliced with others."""
    out = bytearray(data)
    if other and rng.random() < 0.05:
        out = out[: rng.randrange(len(out) + 1)] + other[rng.randrange(len(other)) :]
    for _ in range(rng.randint(1, most)):
        if out:
            rng.choice(_KINDS)(out, rng)
    return bytes(out)
