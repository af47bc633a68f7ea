"""Masks in torch operations: one bit an element, lowest bit first, zeros after the last element."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["other_value", "pack", "unpack"]


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


def other_value(flat: Tensor) -> int | None:
    """The bits of the one value that is not +0: 0 when there is none, None when there are several.

    Args:
        flat: any type of 2 or 4 bytes, shape (n,).
    """
    if flat.numel() == 0:
        return 0
    width = flat.element_size()
    patterns = flat.view({2: torch.int16, 4: torch.int32}[width])
    least, greatest = (int(bound) for bound in patterns.aminmax())
    value = least or greatest
    if not bool(((patterns == 0) | (patterns == value)).all()):
        return None
    return value % (1 << 8 * width)
