"""How a tensor lies in memory, and how to lay a decoded one out the same way."""

from __future__ import annotations

import math
from copy import copy

import torch
from torch import Tensor

__all__ = ["Layout"]


class Layout:
    """Size, strides, type and device of a tensor, and the order in which its elements lie in memory.

    Codecs work on the elements in memory order, so channels_last and transposed tensors need no copy. Tensors
    with gaps are read through a compact copy of the same dimension order, and come back compact; dimensions
    that were expanded (stride 0) are read once, and come back expanded.

    Attributes:
        size, stride: of the tensor; `restored_stride` is what it gets back: the same, unless there were gaps.
        dtype, device: likewise.
        order: its stored dimensions, outermost in memory first; expanded dimensions are not among them.
        numel: elements stored.
        dense: whether the elements lie in memory without gaps.
    """

    __slots__ = ("dense", "device", "dtype", "numel", "order", "restored_stride", "size", "stride")

    def __init__(self, x: Tensor) -> None:
        self.size = x.size()
        self.stride = x.stride()
        self.dtype = x.dtype
        self.device = x.device
        if x.is_contiguous():
            self.order = tuple(range(len(self.size)))
            self.numel = x.numel()
            self.dense = True
            self.restored_stride = self.stride
        else:
            self._look_closer()

    def _look_closer(self) -> None:
        size, stride = self.size, self.stride
        stored = [d for d in range(len(size)) if stride[d] != 0 or size[d] == 1]
        self.order = tuple(sorted(stored, key=lambda d: (-stride[d], -size[d])))
        self.numel = math.prod(size[d] for d in stored)
        restored = [0] * len(size)
        step = 1
        for d in reversed(self.order):
            restored[d] = step
            step *= size[d]
        self.dense = all(size[d] == 1 or restored[d] == stride[d] for d in stored)
        self.restored_stride = stride if self.dense else tuple(restored)

    def on(self, device: torch.device) -> Layout:
        """The same layout on another device."""
        moved = copy(self)
        moved.device = device
        return moved

    def flat(self, x: Tensor) -> Tensor:
        """The stored elements of `x` in memory order, shape (numel,): a view where there are no gaps."""
        if self.dense:
            flat = x.as_strided((self.numel,), (1,))
            return flat.resolve_neg() if flat.is_neg() else flat
        index = tuple(slice(None) if d in self.order else 0 for d in range(len(self.size)))
        kept = [d for d in range(len(self.size)) if d in self.order]
        return x[index].permute([kept.index(d) for d in self.order]).flatten().contiguous()

    def restore(self, flat: Tensor) -> Tensor:
        """The tensor whose elements in memory order are `flat`, with its size and strides. Shares memory with
        `flat`.
        """
        return flat.as_strided(self.size, self.restored_stride)

    def around(self, dim: int) -> tuple[int, int, int]:
        """`(outer, length, inner)`: the elements in memory order as a contiguous array of this shape, whose
        middle axis is dimension `dim`. So (N, C, H, W) around 1 is (N, C, H·W), and with channels_last
        (N·H·W, C, 1). An expanded dimension is stored once: its length is 1.

        Raises:
            IndexError: the tensor has no such dimension.
        """
        if not -len(self.size) <= dim < len(self.size):
            raise IndexError(f"dimension {dim} of a tensor of {len(self.size)} dimensions")
        dim %= len(self.size)
        if dim not in self.order:
            return self.numel, 1, 1
        place = self.order.index(dim)
        sizes = [self.size[d] for d in self.order]
        return math.prod(sizes[:place]), sizes[place], math.prod(sizes[place + 1 :])
