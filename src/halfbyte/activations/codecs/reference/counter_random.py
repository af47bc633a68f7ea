"""Random numbers without a state, in torch operations: what native/tensor/counter_random.hpp draws, and why
so, is said there. torch's own generators are not touched.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Stream", "draw", "spread_key", "uniform"]

_WORD = 0xFFFF_FFFF
_LONG = 0xFFFF_FFFF_FFFF_FFFF


class Stream(NamedTuple):
    """The two halves of a key, spread: 32 bits each."""

    first: int
    second: int


def spread_key(key: int) -> Stream:
    """Halves that have nothing in common with those of other keys, however close.

    Args:
        key: 64 bits.
    """
    key = (key + 0x9E37_79B9_7F4A_7C15) & _LONG
    key = (key ^ key >> 32) * 0xB591_4369_1A8A_4C15 & _LONG
    key = (key ^ key >> 29) * 0x4E46_C95D_0C24_D119 & _LONG
    key ^= key >> 32
    return Stream(key & _WORD, key >> 32)


def draw(counter: Tensor, stream: Stream) -> Tensor:
    """32 random bits for each counter.

    Args:
        counter: int64, any shape; 32 bits of it count.

    Returns:
        int64 in [0, 2³²), of the same shape.
    """
    h = (counter & _WORD) ^ stream.first
    h = (h ^ h >> 16) * 0xC839_C957 & _WORD
    h = (h ^ h >> 15) + stream.second & _WORD
    h = h * 0x1439_8E6F & _WORD
    return h ^ h >> 16


def uniform(count: int, key: int, device: torch.device) -> Tensor:
    """Random numbers for elements 0 to count - 1: float32, shape (count,), the middles of 2¹⁶ equal parts of
    0 to 1. A draw serves elements n and n + 16 of every 32: its lower half the one, its upper half the other.
    """
    blocks = (count + 31) // 32
    bits = draw(torch.arange(16 * blocks, device=device), spread_key(key)).view(blocks, 1, 16)
    halves = torch.cat([bits & 0xFFFF, bits >> 16], dim=1).view(-1)[:count]
    return (halves.to(torch.float32) + 0.5) * 2.0**-16
