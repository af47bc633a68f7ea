"""Integer codes of which most are 0, in blocks of 64.

A block of zeros takes half a byte. Any other has a bit for each code, which says whether it is 0, and those
that are not, each in as many bits as the largest of the block needs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from halfbyte.activations.codecs import bits
from halfbyte.activations.codecs.dtypes import ONE
from halfbyte.activations.codecs.reference.group_quantized import pack, unpack

__all__ = ["BLOCK", "CodeBlocks", "decode", "encode", "num_bytes"]

BLOCK = 64
"""Codes of a block."""

_WIDTH_BITS = 4
_WIDTHS = range(1, 10)


class CodeBlocks(NamedTuple):
    """Codes as bytes, each part uint8 of one dimension.

    Attributes:
        widths: of the blocks, two a byte: 0 for a block of zeros, else 1 + the bits of a code.
        masks: of each block that is not all zeros, 8 bytes: bit i says whether its i-th code is not 0.
        codes: those that are not 0, without gaps: first of all blocks of width 2, then of width 3, and so on,
            each beginning with a whole byte. (Where the width is 1, all of them are alike.)
    """

    widths: Tensor
    masks: Tensor
    codes: Tensor


def encode(codes: Tensor, *, signed: bool) -> CodeBlocks:
    """Pack codes. Waits for the device.

    Args:
        codes: int16 (n,): from 0 to 256, or from -128 to 128 if `signed`.
    """
    blocks = _blocks(codes)
    widths, folded = _widths(blocks, signed)
    nonzero = blocks != 0
    masks = bits.pack_nonzero(blocks[widths > 0].view(-1))
    streams = [
        pack(folded[nonzero & (widths == width).unsqueeze(1)].to(torch.uint8), width - 1)
        for width in _WIDTHS[1:]
    ]
    return CodeBlocks(pack(widths, _WIDTH_BITS), masks, torch.cat(streams))


def num_bytes(codes: Tensor, *, signed: bool) -> int:
    """What `encode` would take."""
    blocks = _blocks(codes)
    widths, _ = _widths(blocks, signed)
    counts = torch.zeros(_WIDTHS.stop, dtype=torch.int64, device=codes.device)
    counts.index_add_(0, widths.long(), blocks.count_nonzero(1))
    streams = sum((n * (width - 1) + 7) // 8 for width, n in enumerate(counts.tolist()) if n)
    masks = BLOCK // 8 * int((widths > 0).sum())
    return int((len(widths) * _WIDTH_BITS + 7) // 8 + masks + streams)


def decode(parts: CodeBlocks, count: int, *, signed: bool) -> Tensor:
    """The codes, int16 (count,), from what `encode` made.

    Raises:
        ValueError: it did not make these parts.
    """
    for name, part in parts._asdict().items():
        if part.dtype != torch.uint8 or part.dim() != 1:
            raise _damaged(f"{name} are {part.dtype} of {part.dim()} dimensions, expected uint8 of 1")
    widths = unpack(parts.widths, -(-count // BLOCK), _WIDTH_BITS)
    if bool((widths > _WIDTHS[-1]).any()):
        raise _damaged(f"a width of {int(widths.max())}, expected at most {_WIDTHS[-1]}")
    filled = widths > 0
    nonzero = torch.zeros(len(widths), BLOCK, dtype=torch.bool, device=widths.device)
    marks = bits.unpack(parts.masks, int(filled.sum()) * BLOCK, torch.bool, ONE[torch.bool])
    nonzero[filled] = marks.view(-1, BLOCK)
    if not torch.equal(nonzero.any(1), filled) or bool(nonzero.view(-1)[count:].any()):
        raise _damaged("widths and masks do not fit each other")
    return _spread(parts.codes, widths, nonzero, signed).view(-1)[:count]


def _spread(stream: Tensor, widths: Tensor, nonzero: Tensor, signed: bool) -> Tensor:
    codes = torch.zeros(nonzero.shape, dtype=torch.int16, device=nonzero.device)
    start = 0
    for width in _WIDTHS:
        here = nonzero & (widths == width).unsqueeze(1)
        num_codes = int(here.sum())
        end = start + (num_codes * (width - 1) + 7) // 8
        packed = stream[start:end]
        folded = unpack(packed, num_codes, width - 1) if width > 1 else packed.new_zeros(num_codes)
        codes[here] = _unfold(folded.to(torch.int16), signed)
        start = end
    if start != stream.numel():
        raise _damaged(f"codes take {stream.numel()} bytes, expected {start}")
    return codes


def _blocks(codes: Tensor) -> Tensor:
    missing = -codes.numel() % BLOCK
    return functional.pad(codes, (0, missing)).view((codes.numel() + missing) // BLOCK, BLOCK)


def _widths(blocks: Tensor, signed: bool) -> tuple[Tensor, Tensor]:
    """Width of each block, and codes as numbers from 0 up, -1 where they are 0."""
    folded = 2 * (blocks.abs() - 1) + (blocks < 0) if signed else blocks - 1
    folded = folded.masked_fill(blocks == 0, -1).to(torch.int16)
    if len(blocks) == 0:
        return blocks.new_empty(0, dtype=torch.uint8), folded
    largest = folded.amax(1)
    powers = torch.tensor([0, *(1 << bit for bit in range(8))], dtype=torch.int16, device=blocks.device)
    return torch.bucketize(largest, powers, right=True).to(torch.uint8), folded


def _unfold(folded: Tensor, signed: bool) -> Tensor:
    if not signed:
        return folded + 1
    magnitude = (folded >> 1) + 1
    return torch.where(folded & 1 != 0, -magnitude, magnitude)


def _damaged(found: str) -> ValueError:
    return ValueError(f"packed bytes are damaged: {found}")
