"""Values that pass a codec, and gradients that pass by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["straight_through"]


def straight_through(x: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """`change(x)`, of which the gradient is taken to be that of the identity.

    Args:
        x: any tensor.
        change: makes a tensor of the same size, maybe on another device; no graph is recorded of it.

    Source: Bengio, Léonard and Courville, "Estimating or propagating gradients through stochastic neurons"
    (arXiv 1308.3432), the straight-through estimator.
    """
    changed: Tensor = _StraightThrough.apply(x, change)  # type: ignore[no-untyped-call]
    return changed


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.device = x.device
        return change(x.detach())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient.to(ctx.device), None
