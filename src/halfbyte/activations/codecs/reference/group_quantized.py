"""Group quantization in torch operations; the formulas are those of native/tensor/group_quantize.hpp."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte.activations.codecs.reference.counter_random import uniform

__all__ = ["decode", "encode", "pack", "unpack"]

_LEAST_STEP = 2.0**-126


def encode(
    flat: Tensor, *, bits: int, group: int, stochastic: bool, key: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Quantize groups of elements.

    Args:
        flat: float32, bfloat16 or float16, shape (n,).
        bits: of a code.
        group: elements of a group, a multiple of 32.
        stochastic: whether to round at random, else to nearest.
        key: 64 bits, for random numbers.

    Returns:
        Codes: uint8, shape (⌈n·bits / 8⌉,). Least elements: of the type of `flat`, shape (⌈n / group⌉,).
        Steps: bfloat16, of the same shape; NaN where the group is to be kept elsewhere.
    """
    count = flat.numel()
    rows = _rows(flat, group).to(torch.float32)
    levels = (1 << bits) - 1
    least, step, inverse = _scale(rows, levels)
    sound = (least + step * levels).to(flat.dtype).isfinite()
    offset = uniform(rows.numel(), key, flat.device).view_as(rows) if stochastic else 0.5
    codes = (rows - least.unsqueeze(1)) * inverse.unsqueeze(1) + offset
    codes = torch.where(sound.unsqueeze(1), codes.clamp_max(levels), 0).to(torch.uint8)
    return (
        pack(codes.view(-1)[:count], bits),
        torch.where(sound, least, 0).to(flat.dtype),
        step.to(torch.bfloat16).masked_fill(~sound, torch.nan),
    )


def decode(codes: Tensor, least: Tensor, steps: Tensor, *, count: int, bits: int, group: int) -> Tensor:
    """What `encode` made: shape (count,), of the type of `least`; NaN in groups that are kept elsewhere.

    Raises:
        ValueError: the parts are not of the size that the rest asks for.
    """
    groups = (count + group - 1) // group
    if (least.numel(), steps.numel()) != (groups, groups):
        found = f"{least.numel()} least elements and {steps.numel()} steps"
        raise ValueError(f"packed bytes are damaged: {found}, expected {groups}")
    above = _rows(unpack(codes, count, bits), group).to(torch.float32) * steps.to(torch.float32).unsqueeze(1)
    return (least.to(torch.float32).unsqueeze(1) + above).to(least.dtype).view(-1)[:count]


def _rows(flat: Tensor, group: int) -> Tensor:
    # The last row is filled up with an element that is there, which changes neither its least nor its
    # greatest.
    missing = -flat.numel() % group
    return torch.cat([flat, flat[-1:].expand(missing)]).view((flat.numel() + missing) // group, group)


def _scale(rows: Tensor, levels: int) -> tuple[Tensor, Tensor, Tensor]:
    if rows.numel() == 0:
        return rows.new_empty(0), rows.new_empty(0), rows.new_empty(0)
    # Zeros are made positive: which sign the least of 0 and -0 has depends on the order.
    least = rows.amin(1) + 0.0
    greatest = rows.amax(1) + 0.0
    # A tensor on the device, since some devices divide by a number by multiplying with its inverse.
    exact = (greatest - least) / torch.full_like(least, levels)
    step = ((exact.view(torch.int32) + 0xFFFF) & -0x1_0000).view(torch.float32)
    small = step < _LEAST_STEP
    return least, step.masked_fill(small, 0), step.reciprocal().masked_fill(small, 0)


def pack(codes: Tensor, bits: int) -> Tensor:
    """A stream of bits, lowest first, without gaps; zeros after the last code.

    Args:
        codes: uint8 below 2^bits, shape (n,).
        bits: 1, 2, 3, 4 or 8.

    Returns:
        uint8, shape (⌈n·bits / 8⌉,).
    """
    count = codes.numel()
    eights = torch.nn.functional.pad(codes, (0, -count % 8)).view(-1, 8).to(torch.int64)
    words = (eights << _places(8, bits, codes.device)).sum(1, keepdim=True)
    return (words >> _places(bits, 8, codes.device)).to(torch.uint8).view(-1)[: (count * bits + 7) // 8]


def unpack(packed: Tensor, count: int, bits: int) -> Tensor:
    """What `pack` was given: uint8, shape (count,).

    Raises:
        ValueError: `packed` has not the bytes of `count` codes.
    """
    expected = (count * bits + 7) // 8
    if packed.numel() != expected:
        found = f"bytes of codes are {packed.numel()}, expected {expected}"
        raise ValueError(f"packed bytes are damaged: {found}")
    fill = (0, -expected % bits)
    words = torch.nn.functional.pad(packed, fill).view(-1, bits).to(torch.int64) << _places(
        bits, 8, packed.device
    )
    codes = words.sum(1, keepdim=True) >> _places(8, bits, packed.device)
    return (codes & ((1 << bits) - 1)).to(torch.uint8).view(-1)[:count]


def _places(count: int, bits: int, device: torch.device) -> Tensor:
    return torch.arange(0, count * bits, bits, device=device)
