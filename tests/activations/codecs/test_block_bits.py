"""Integers in blocks: against loops over bits, and what does not fit."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from halfbyte.activations.codecs.reference.block_bits import num_words, pack, unpack


def by_hand(integers: list[int]) -> tuple[list[int], list[int]]:
    """Heads and words, with Python's integers of any size."""
    heads, words = [], []
    for first in range(0, len(integers), 512):
        block = integers[first : first + 512]
        block += [0] * (512 - len(block))
        has_sign = min(block) < 0
        unsigned = [2 * d if d >= 0 else -2 * d - 1 for d in block] if has_sign else block
        width = max(unsigned).bit_length()
        streams = [sum(u << k * width for k, u in enumerate(unsigned[column::16])) for column in range(16)]
        heads.append(width + 128 * has_sign)
        words += [stream >> 32 * k & 0xFFFF_FFFF for k in range(width) for stream in streams]
    return heads, words


@given(
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=40),
    st.integers(0, 30),
    st.sampled_from([1, 13, 30]),
)
def test_bits_are_where_they_should_be(integers: list[int], shift: int, repeats: int) -> None:
    integers = [d >> shift for d in integers] * repeats
    heads, words = pack(torch.tensor(integers, dtype=torch.int32))
    expected_heads, expected_words = by_hand(integers)
    assert heads.tolist() == expected_heads
    assert [word & 0xFFFF_FFFF for word in words.tolist()] == expected_words
    assert num_words(torch.tensor(integers, dtype=torch.int32)) == len(expected_words)
    assert unpack(heads, words, len(integers)).tolist() == integers


def some() -> tuple[Tensor, Tensor]:
    return pack(torch.arange(-300, 700, dtype=torch.int32))


@pytest.mark.parametrize("count", [512, 1025, 0])
def test_another_number_of_integers_is_damage(count: int) -> None:
    with pytest.raises(ValueError, match="packed bytes are damaged: 2 blocks with 320 words, expected"):
        unpack(*some(), count)


def test_other_parts_are_damage() -> None:
    heads, words = some()
    for wrong in ((heads, words[:-1]), (heads + 1, words), (heads[:1], words), (heads, words.long())):
        with pytest.raises(ValueError, match="packed bytes are damaged"):
            unpack(*wrong, 1000)
    with pytest.raises(ValueError, match="packed bytes are damaged"):
        unpack(torch.tensor([33], dtype=torch.uint8), torch.zeros(33 * 16, dtype=torch.int32), 512)
