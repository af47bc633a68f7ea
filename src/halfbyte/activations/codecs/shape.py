"""Tensors of which backward reads nothing but size and type."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.layout import Layout

__all__ = ["ShapeOnly"]


@dataclass(frozen=True)
class ShapeOnly(Codec):
    """No bytes at all: a tensor of any type is decoded to one zero, expanded to its size.

    Where its dimensions are in another order, as with channels_last, it is decoded to memory that nobody
    writes or reads: pooling looks at the strides to lay out the gradient.
    """

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        return Packed(self, Layout(x), ())

    def decode(self, packed: Packed) -> Tensor:
        layout = packed.layout
        if layout.order != tuple(sorted(layout.order)):
            stride = layout.restored_stride
            return torch.empty_strided(layout.size, stride, dtype=layout.dtype, device=layout.device)
        return torch.zeros((), dtype=layout.dtype, device=layout.device).expand(layout.size)

    def __str__(self) -> str:
        return "ShapeOnly"
