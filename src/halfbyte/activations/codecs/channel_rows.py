"""A tensor as a row of float32 for each channel, in the same order whatever the order of memory."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte.activations.codecs.channels import keep_channels, put_channels_back

__all__ = ["put_rows", "take_rows"]

_GREATEST = 1e37
"""Sums of a few values stay finite below that."""

Shape = tuple[int, int, int]


def take_rows(flat: Tensor, shape: Shape) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Rows of channels. Waits for the device.

    Args:
        flat: elements in memory order.
        shape: `(outer, channels, inner)` of them.

    Returns:
        float32 (channels, outer · inner), in memory of their own; and channels that hold NaN, Inf or values
        beyond 1e37, as `keep_channels` keeps them: their rows are 0. Nothing where there are none.
    """
    outer, channels, inner = shape
    rows = flat.new_empty((channels, outer * inner), dtype=torch.float32)
    rows.view(channels, outer, inner).copy_(flat.view(shape).transpose(0, 1))
    exact = ~(rows.abs() <= _GREATEST).all(1)
    if not bool(exact.any()):
        return rows, ()
    rows[exact] = 0
    return rows, keep_channels(flat, shape, exact)


def put_rows(rows: Tensor, shape: Shape, dtype: torch.dtype, exact: tuple[Tensor, ...]) -> Tensor:
    """The elements in memory order: the reverse of `take_rows`. Finite values stay so in `dtype`.

    Raises:
        ValueError: `exact` is not what it kept.
    """
    outer, channels, inner = shape
    greatest = torch.finfo(dtype).max
    finite = rows.clamp(-greatest, greatest).to(dtype)
    flat = finite.view(channels, outer, inner).transpose(0, 1).reshape(-1)
    if exact:
        put_channels_back(flat, shape, *exact)
    return flat
