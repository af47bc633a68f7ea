"""Integers in the narrowest type that holds them, in torch operations."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["convert", "integer_range"]


def integer_range(flat: Tensor) -> tuple[int, int]:
    """The least and the greatest element of at least one."""
    least, greatest = flat.aminmax()
    return int(least), int(greatest)


def convert(flat: Tensor, dtype: torch.dtype) -> Tensor:
    """The same integers in another type, which must hold them."""
    return flat.to(dtype, copy=True)
