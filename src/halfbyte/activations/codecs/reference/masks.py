"""Masks in torch operations: one bit an element, lowest bit first, zeros after the last element."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["pack", "unpack"]


def pack(holds: Tensor) -> Tensor:
    """Eight bits a byte.

    Args:
        holds: bool, shape (n,).

    Returns:
        uint8, shape (⌈n / 8⌉,).
    """
    eights = functional.pad(holds.to(torch.uint8), (0, -holds.numel() % 8)).view(-1, 8)
    return (eights << _places(holds.device)).sum(1, dtype=torch.uint8)


def unpack(bits: Tensor, count: int) -> Tensor:
    """What `pack` was given.

    Args:
        bits: uint8, shape (⌈count / 8⌉,).
        count: elements.

    Raises:
        ValueError: `bits` is not of that shape.
    """
    expected = (count + 7) // 8
    if bits.numel() != expected:
        found = f"a mask of {bits.numel()} bytes, expected {expected} for {count} elements"
        raise ValueError(f"packed bytes are damaged: {found}")
    return (bits.unsqueeze(1) >> _places(bits.device)).bitwise_and_(1).view(-1)[:count].to(torch.bool)


def _places(device: torch.device) -> Tensor:
    return torch.arange(8, dtype=torch.uint8, device=device)
