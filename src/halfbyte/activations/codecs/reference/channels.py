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
        return torch.zeros(shape[1], device=flat.device), torch.ones((), dtype=torch.bool, device=flat.device)
    max_abs = flat.view(shape).abs().amax(dim=(0, 2)).float()
    return max_abs.nan_to_num(nan=torch.inf, posinf=torch.inf), (flat >= 0).all()


def fixed_point_scales(max_abs: Tensor, levels: Tensor | float) -> tuple[Tensor, Tensor]:
    """What a fixed-point code is multiplied with, and what a value is.

    Args:
        max_abs: float32 (channels,), as from `channel_ranges`.
        levels: the code of a channel's largest magnitude.

    Returns:
        `max_abs / levels` and `levels / max_abs`, float32 (channels,). Both are 0 where the channel is all
        zeros, or so small (below 1e-36) that the latter is infinite. For a channel that is not finite they
        are NaN and 0.
    """
    levels = torch.as_tensor(levels, dtype=torch.float32, device=max_abs.device).expand_as(max_abs)
    scale, inverse = max_abs / levels, levels / max_abs
    usable = inverse.isfinite()
    scale = torch.where(usable, scale, 0.0)
    return torch.where(max_abs.isinf(), torch.nan, scale), torch.where(usable, inverse, 0.0)
