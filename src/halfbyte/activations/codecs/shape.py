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
    """No bytes at all: a tensor of any type is decoded to one zero, expanded to its size."""

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        return Packed(self, Layout(x), ())

    def decode(self, packed: Packed) -> Tensor:
        layout = packed.layout
        return torch.zeros((), dtype=layout.dtype, device=layout.device).expand(layout.size)

    def __str__(self) -> str:
        return "ShapeOnly"
