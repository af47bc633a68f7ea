"""Ranges and scales of channels, in torch operations."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["channel_ranges", "fixed_point_scales"]


def channel_ranges(flat: Tensor, shape: tuple[int, int, int]) -> tuple[Tensor, Tensor]:
    """The largest magnitude in each channel, and whether all elements are >= 0.

    Args:
        flat: elements in memory order, float32, bfloat16 or float16.
        shape: `(outer, channels, inner)` of them.

    Returns:
        float32 (channels,), infinity for a channel that holds NaN or Inf and 0 for one without elements;
        bool (), for which nobody has waited.
    """
    if flat.numel() == 0:
        return flat.new_zeros(shape[1], dtype=torch.float32), flat.new_ones((), dtype=torch.bool)
    max_abs = flat.view(shape).abs().amax(dim=(0, 2)).float()
    return max_abs.nan_to_num(nan=torch.inf, posinf=torch.inf), (flat >= 0).all()


def fixed_point_scales(max_abs: Tensor, levels: Tensor | float) -> tuple[Tensor, Tensor]:
    """What a fixed-point code is multiplied with, and what a value is.

    Args:
        max_abs: float32 (channels,), as from `channel_ranges`.
        levels: the code of a channel's largest magnitude: a number, or float32 () on the same device.

    Returns:
        `max_abs / levels` and `levels / max_abs`, float32 (channels,). Both are 0 where the channel is all
        zeros, or so small (below 1e-36) that the latter is infinite. For a channel that is not finite they
        are NaN and 0.
    """
    if not isinstance(levels, Tensor):
        levels = max_abs.new_full((), levels)
    scale, inverse = max_abs / levels, levels / max_abs
    usable = inverse.isfinite()
    scale = torch.where(usable, scale, 0.0)
    return torch.where(max_abs.isinf(), torch.nan, scale), torch.where(usable, inverse, 0.0)
