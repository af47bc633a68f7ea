"""Scaled fixed point and its zero-value coding, in torch operations."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from halfbyte.activations.codecs.reference import masks
from halfbyte.activations.codecs.reference.channels import channel_ranges, fixed_point_scales

__all__ = ["ZVC_RUN", "decode", "encode", "pack4", "unpack4", "zvc_pack", "zvc_unpack"]

ZVC_RUN = 1 << 14
"""Elements whose codes have one count."""


def encode(
    flat: Tensor, shape: tuple[int, int, int], *, bits: int, levels: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Codes of elements.

    Args:
        flat: elements in memory order, float32, bfloat16 or float16.
        shape: `(outer, channels, inner)` of them.
        bits: of a code, 4 or 8.
        levels: the signed code of a channel's largest magnitude; twice that when no element is below 0, and
            codes are unsigned.

    Returns:
        Scales, float32 (channels,); whether codes are unsigned, uint8 (1,); codes, one uint8 (numel,) each.
    """
    max_abs, nonneg = channel_ranges(flat, shape)
    is_unsigned = nonneg.float()
    scale, inverse = fixed_point_scales(max_abs, max_abs.new_full((), levels) * (1 + is_unsigned))
    low = (is_unsigned - 1) * 2 ** (bits - 1)
    codes = (flat.view(shape).float() * inverse.view(1, -1, 1)).round()
    codes = codes.nan_to_num(nan=-torch.inf).maximum(low).minimum(low + (2**bits - 1))
    return scale, nonneg.view(1).to(torch.uint8), codes.view(-1).to(torch.int16).to(torch.uint8)


def decode(
    codes: Tensor, scale: Tensor, is_unsigned: Tensor, shape: tuple[int, int, int], dtype: torch.dtype
) -> Tensor:
    """Elements from codes of one byte each: flat, in memory order, of this type."""
    values = torch.where(is_unsigned.bool(), codes.float(), codes.view(torch.int8).float())
    return (values.view(shape) * scale.view(1, -1, 1)).to(dtype).view(-1)


def pack4(codes: Tensor) -> Tensor:
    """Two codes a byte, the first in the low half."""
    even = functional.pad(codes & 15, (0, codes.numel() % 2)).view(-1, 2)
    return even[:, 0] | even[:, 1] << 4


def unpack4(packed: Tensor, is_unsigned: Tensor, numel: int) -> Tensor:
    """The reverse of `pack4`, with the sign of signed codes in all eight bits."""
    codes = torch.stack((packed & 15, packed >> 4), dim=1).view(-1)[:numel]
    sign = torch.where(is_unsigned.bool(), 0, 8).to(torch.uint8)
    return (codes ^ sign) - sign


def zvc_pack(flat: Tensor, codes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The codes of elements that are not 0. Waits for the device.

    Returns:
        A bit for each element, uint8; the codes of each run of `ZVC_RUN` elements, counted, int32; the codes.
    """
    nonzero = flat != 0
    return masks.pack(nonzero), _count_runs(nonzero), codes[nonzero]


def zvc_unpack(mask: Tensor, counts: Tensor, codes: Tensor, numel: int) -> Tensor:
    """The reverse of `zvc_pack`, 0 where there was no code. Waits for the device.

    Raises:
        ValueError: the parts do not fit each other.
    """
    nonzero = masks.unpack(mask, numel)
    fits = torch.equal(masks.pack(nonzero), mask) and torch.equal(_count_runs(nonzero), counts)
    if not fits or int(counts.sum()) != codes.numel():
        raise ValueError("packed bytes are damaged: mask, counts and codes do not fit each other")
    spread = torch.zeros(numel, dtype=torch.uint8, device=mask.device)
    spread[nonzero] = codes
    return spread


def _count_runs(nonzero: Tensor) -> Tensor:
    padded = functional.pad(nonzero, (0, -nonzero.numel() % ZVC_RUN))
    return padded.view(-1, ZVC_RUN).sum(dim=1, dtype=torch.int32)
