"""Randomness without state: keys and numbers that are pure functions of (seed, epoch, stream, index)."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Stream", "check_seed", "derive_key", "derive_keys", "keyed_uniforms", "mix64"]

# Increment and multipliers of SplitMix64 (Steele, Lea and Flood 2014; finalizer: Stafford's variant 13).
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_SEED_LIMIT = 1 << 64


class Stream(IntEnum):
    """What a key is for, so that no two uses share random numbers.

    The values are part of the order of every epoch and data set: never renumber them.
    """

    RECORDS = 1
    WINDOW = 2
    VIEW = 3
    FIDELITY = 4
    SOURCES = 5
    PROBE = 6
    JITTER = 7


def mix64(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit integers so that every input bit moves every output bit (a bijection).

    Args:
        values: uint64 array of any shape; not changed.

    Returns:
        A new uint64 array of the same shape.

    Source: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    """
    # ndmin: numpy warns about overflow of scalars, never of arrays.
    mixed = np.array(values, dtype=np.uint64, ndmin=1)
    mixed ^= mixed >> np.uint64(30)
    mixed *= _MULTIPLIER_1
    mixed ^= mixed >> np.uint64(27)
    mixed *= _MULTIPLIER_2
    mixed ^= mixed >> np.uint64(31)
    return mixed.reshape(np.shape(values))


def check_seed(seed: int) -> int:
    """Return the seed as a plain int.

    Raises:
        ValueError: it is not an integer in [0, 2**64).
    """
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= seed < _SEED_LIMIT:
        raise ValueError(
            f"seed is {seed!r}, expected an integer in [0, 2**64); pass a non-negative integer such as 0"
        )
    return int(seed)


def derive_keys(seed: int, *parts: ArrayLike) -> NDArray[np.uint64]:
    """Hash a seed and any number of parts (epoch, stream, indices) into keys.

    Args:
        seed: integer in [0, 2**64).
        parts: integers or integer arrays, broadcast together; their order matters.

    Returns:
        uint64 keys in the broadcast shape of the parts, shape (1,) if all are integers. Keys that differ
        in one part only are always different.

    Raises:
        ValueError: the seed is out of range.
    """
    keys = mix64(np.array([check_seed(seed)], dtype=np.uint64) + _GAMMA)
    for part in parts:
        keys = mix64((keys ^ np.asarray(part).astype(np.uint64)) + _GAMMA)
    return keys


def derive_key(seed: int, *parts: int) -> int:
    """Hash a seed and integers into one key in [0, 2**64): `derive_keys` for a single value."""
    return int(derive_keys(seed, *parts)[0])


def keyed_uniforms(keys: NDArray[np.uint64], count: int) -> NDArray[np.float64]:
    """Draw `count` uniform numbers for each key: the SplitMix64 sequence that starts at the key.

    Args:
        keys: uint64 array (n,).
        count: numbers drawn per key; a larger count only appends, it never changes the first ones.

    Returns:
        float64 array (n, count) in [0, 1), multiples of 2**-53.
    """
    steps = np.arange(1, count + 1, dtype=np.uint64) * _GAMMA
    bits = mix64(keys[:, None] + steps[None, :]) >> np.uint64(11)
    return bits.astype(np.float64) * np.float64(2.0**-53)
