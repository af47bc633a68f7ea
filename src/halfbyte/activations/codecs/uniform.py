"""Values as multiples of one step, and how codecs hold them."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte.activations.codecs.code_blocks import CodeBlocks

__all__ = ["quantize", "split_parts", "step_for"]

_LEAST = 1e-35


def step_for(values: Tensor, levels: int) -> Tensor:
    """The step that the largest magnitude is `levels` times of: float32 (1,); 0 where that is below 1e-35."""
    largest = values.abs().max() if values.numel() > 0 else values.new_zeros(())
    return torch.where(largest < _LEAST, 0, largest / levels).to(torch.float32).view(1)


def quantize(values: Tensor, step: Tensor) -> Tensor:
    """How many steps each value is, to the nearest, ties to even: int16, of the same shape."""
    return (values * torch.where(step > 0, step.reciprocal(), 0)).round().to(torch.int16)


def split_parts(parts: tuple[Tensor, ...]) -> tuple[Tensor, CodeBlocks, tuple[Tensor, ...]]:
    """The step, the codes, and channels that are exact, from what is held of a tensor.

    Raises:
        ValueError: it is something else.
    """
    if len(parts) not in (4, 6):
        raise ValueError(f"packed bytes are damaged: {len(parts)} parts, expected 4 or 6")
    step, widths, masks, codes, *exact = parts
    if step.dtype != torch.float32 or step.shape != (1,) or not bool(step.isfinite() & (step >= 0)):
        raise ValueError("packed bytes are damaged: the step is not a number from 0 up, float32 (1,)")
    return step, CodeBlocks(widths, masks, codes), tuple(exact)
