"""Integer codes in blocks of 64, in torch operations."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from halfbyte.activations.codecs.reference import masks as bits
from halfbyte.activations.codecs.reference.group_quantized import pack, unpack

__all__ = ["CODES", "FIT", "MASKS", "WIDTH", "decode", "encode", "num_bytes"]

_BLOCK = 64
_WIDTH_BITS = 4
_WIDTHS = range(1, 10)

WIDTH = f"a width is more than {_WIDTHS[-1]}"
MASKS = "masks are not of as many blocks as have a width"
FIT = "widths and masks do not fit each other"
CODES = "codes take more or fewer bytes than widths and masks say"
"""What may be wrong with packed codes."""


def encode(codes: Tensor, *, signed: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Widths, masks and codes, as `CodeBlocks` has them."""
    blocks = _blocks(codes)
    widths, folded = _widths(blocks, signed)
    nonzero = blocks != 0
    masks = bits.pack(nonzero[widths > 0].view(-1))
    streams = [
        pack(folded[nonzero & (widths == width).unsqueeze(1)].to(torch.uint8), width - 1)
        for width in _WIDTHS[1:]
    ]
    return pack(widths, _WIDTH_BITS), masks, torch.cat(streams)


def num_bytes(codes: Tensor, *, signed: bool) -> int:
    """What `encode` would take."""
    blocks = _blocks(codes)
    widths, _ = _widths(blocks, signed)
    counts = torch.zeros(_WIDTHS.stop, dtype=torch.int64, device=codes.device)
    counts.index_add_(0, widths.long(), blocks.count_nonzero(1))
    streams = sum(_bytes(n, width) for width, n in enumerate(counts.tolist()) if n)
    masks = _BLOCK // 8 * int((widths > 0).sum())
    return int((len(widths) * _WIDTH_BITS + 7) // 8 + masks + streams)


def decode(widths: Tensor, masks: Tensor, codes: Tensor, count: int, *, signed: bool) -> Tensor:
    """The codes, int16 (count,).

    Raises:
        ValueError: masks and codes are not of these widths.
    """
    widths = unpack(widths, -(-count // _BLOCK), _WIDTH_BITS)
    _check(bool((widths <= _WIDTHS[-1]).all()), WIDTH)
    filled = widths > 0
    _check(masks.numel() == _BLOCK // 8 * int(filled.sum()), MASKS)
    nonzero = torch.zeros(len(widths), _BLOCK, dtype=torch.bool, device=widths.device)
    nonzero[filled] = bits.unpack(masks, 8 * masks.numel()).view(-1, _BLOCK)
    _check(torch.equal(nonzero.any(1), filled) and not bool(nonzero.view(-1)[count:].any()), FIT)
    return _spread(codes, widths, nonzero, signed).view(-1)[:count]


def _spread(stream: Tensor, widths: Tensor, nonzero: Tensor, signed: bool) -> Tensor:
    places = [nonzero & (widths == width).unsqueeze(1) for width in _WIDTHS]
    numbers = [int(here.sum()) for here in places]
    sizes = [_bytes(number, width) for number, width in zip(numbers, _WIDTHS, strict=True)]
    _check(stream.numel() == sum(sizes), CODES)
    codes = torch.zeros(nonzero.shape, dtype=torch.int16, device=nonzero.device)
    for here, number, width, packed in zip(places, numbers, _WIDTHS, torch.split(stream, sizes), strict=True):
        folded = unpack(packed, number, width - 1) if width > 1 else packed.new_zeros(number)
        codes[here] = _unfold(folded.to(torch.int16), signed)
    return codes


def _bytes(number: int, width: int) -> int:
    """Of so many codes, of blocks of this width."""
    return (number * (width - 1) + 7) // 8


def _blocks(codes: Tensor) -> Tensor:
    missing = -codes.numel() % _BLOCK
    return functional.pad(codes, (0, missing)).view((codes.numel() + missing) // _BLOCK, _BLOCK)


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


def _check(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise ValueError(f"packed bytes are damaged: {otherwise}")
