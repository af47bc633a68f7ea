"""Integers in blocks with the bits that their greatest needs, as native/tensor/block_bits.hpp has them."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["BLOCK", "num_words", "pack", "unpack"]

BLOCK = 512
_COLUMNS = 16
_ROWS = BLOCK // _COLUMNS
_HAS_SIGN = 128


def num_words(integers: Tensor) -> int:
    """How many words `pack` makes of these integers. Waits for the device."""
    return int(_blocks(integers)[1].sum()) * _COLUMNS


def pack(integers: Tensor) -> tuple[Tensor, Tensor]:
    """Integers in blocks of 512. Waits for the device.

    Args:
        integers: int32, shape (n,).

    Returns:
        The head of each block, uint8 (⌈n / 512⌉,): bits of an integer, plus 128 if they have a sign. Words,
        int32: 16 for each bit of each block.
    """
    unsigned, widths, has_sign = _blocks(integers)
    first = _first_words(widths)
    words = unsigned.new_zeros(int(widths.sum()), _COLUMNS)
    for width in sorted(set(widths.tolist())):
        blocks = (widths == width).nonzero().view(-1)
        values, begin = unsigned[blocks], first[blocks]
        for row in range(_ROWS if width else 0):
            word, shift = divmod(row * width, 32)
            words[begin + word] |= values[:, row] << shift & 0xFFFF_FFFF
            if shift + width > 32:
                words[begin + word + 1] |= values[:, row] >> 32 - shift
    heads = widths + _HAS_SIGN * has_sign
    return heads.to(torch.uint8), words.to(torch.int32).view(-1)


def unpack(heads: Tensor, words: Tensor, count: int) -> Tensor:
    """What `pack` was given: int32, shape (count,).

    Raises:
        ValueError: it did not make this.
    """
    widths, has_sign = heads.long() % _HAS_SIGN, heads >= _HAS_SIGN
    sound = heads.dtype == torch.uint8 and words.dtype == torch.int32 and bool((widths <= 32).all())
    found = (heads.numel(), words.numel())
    expected = (-(-count // BLOCK), int(widths.sum()) * _COLUMNS)
    if not sound or found != expected:
        raise ValueError(
            f"packed bytes are damaged: {found[0]} blocks with {found[1]} words, expected {expected}"
        )
    lines = words.long().view(-1, _COLUMNS) & 0xFFFF_FFFF
    lines = torch.cat([lines, lines.new_zeros(2, _COLUMNS)])  # looked at, not used
    first = _first_words(widths)
    unsigned = lines.new_zeros(heads.numel(), _ROWS, _COLUMNS)
    for width in sorted(set(widths.tolist())):
        blocks = (widths == width).nonzero().view(-1)
        begin = torch.arange(_ROWS, device=words.device) * width
        at, shift = first[blocks].view(-1, 1) + begin // 32, (begin % 32).view(-1, 1)
        both = lines[at] >> shift | lines[at + 1] << 32 - shift
        unsigned[blocks] = both & (1 << width) - 1
    signed = unsigned >> 1 ^ -(unsigned & 1)
    integers = torch.where(has_sign.view(-1, 1, 1), signed, unsigned)
    return integers.to(torch.int32).view(-1)[:count]


def _blocks(integers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Without sign, int64 (blocks, 32, 16); bits of the greatest of each block; whether it has a sign."""
    padded = torch.nn.functional.pad(integers.long(), (0, -integers.numel() % BLOCK)).view(
        -1, _ROWS, _COLUMNS
    )
    has_sign = (padded < 0).flatten(1).any(1)
    doubled = padded << 1 ^ padded >> 63
    unsigned = torch.where(has_sign.view(-1, 1, 1), doubled, padded)
    greatest = torch.zeros_like(has_sign, dtype=torch.int64)
    if len(unsigned):  # of nothing there is no greatest
        greatest = unsigned.flatten(1).amax(1)
    bits = torch.arange(32, device=integers.device)
    return unsigned, (greatest.view(-1, 1) >> bits != 0).sum(1), has_sign


def _first_words(widths: Tensor) -> Tensor:
    """The line of words that each block begins with."""
    return widths.cumsum(0) - widths
