"""Layers that multiply a saved tensor by a weight: what its error does to the weight's gradient.

Source: the law of COMET (VLDB 2022, §4) in its exact form. A gradient of such a weight is a sum of products
of the input x and the gradient L at the layer's output, so independent errors of x, uniform within ±e where x
is not 0, make the element of output channel k wrong by noise of variance

    e²/3 · R · s · ‖L_k‖²

where R is the share of elements of x that are not 0, and s that of the products which do not fall on padding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from halfbyte.activations.policy.parameters import parameter_behind
from halfbyte.activations.policy.saved_tensor import Saver

__all__ = ["PRODUCTS", "Product", "product_of"]

PRODUCTS = {
    Saver("ConvolutionBackward0", "input"): 1,
    Saver("CudnnConvolutionBackward0", "self"): 1,
    Saver("AddmmBackward0", "mat1"): 2,
    Saver("MmBackward0", "self"): 1,
    Saver("LinearBackward0", "input"): 1,
}
"""Who reads a tensor to multiply it by a weight, and which of the node's inputs that weight is."""


@dataclass(frozen=True, eq=False)
class Product(ABC):
    """A layer and its weight."""

    weight: nn.Parameter

    def noise(self, size: Sequence[int], gradient: Tensor) -> float:
        """s · mean of ‖L_k‖² over the output channels: what e²/3 · R is to be multiplied by for the mean
        variance of the weight's gradient.

        Args:
            size: of the input.
            gradient: L, at the output.
        """
        energy = float(gradient.detach().float().square().sum())
        return self.share(size, gradient.size()) * energy / self.channels(gradient)

    @abstractmethod
    def channels(self, gradient: Tensor) -> int:
        """Output channels."""

    @abstractmethod
    def share(self, size: Sequence[int], out: Sequence[int]) -> float:
        """Of the products of an element of the weight: those that do not fall on padding."""

    @abstractmethod
    def weight_gradient(self, gradient: Tensor, x: Tensor) -> Tensor:
        """The weight's gradient, had the input been `x`."""


@dataclass(frozen=True, eq=False)
class Linear(Product):
    """A linear layer, or a product of matrices."""

    def channels(self, gradient: Tensor) -> int:
        return gradient.size(-1)

    def share(self, size: Sequence[int], out: Sequence[int]) -> float:
        return 1.0

    def weight_gradient(self, gradient: Tensor, x: Tensor) -> Tensor:
        rows = gradient.reshape(-1, gradient.size(-1))
        return rows.T @ x.reshape(len(rows), -1).to(rows.dtype)


@dataclass(frozen=True, eq=False)
class Convolution(Product):
    """A convolution of any number of dimensions, transposed or not."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int

    def channels(self, gradient: Tensor) -> int:
        return gradient.size(1)

    def share(self, size: Sequence[int], out: Sequence[int]) -> float:
        dims = zip(size[2:], out[2:], self.weight.shape[2:], strict=True)
        return prod(self._share(n, *own) for n, own in enumerate(dims))

    def _share(self, n: int, size: int, out: int, kernel: int) -> float:
        """In one dimension: a transposed convolution steps over its output, another one over its input."""
        steps, reach = (size, out) if self.transposed else (out, size)
        stride, padding, dilation = self.stride[n], self.padding[n], self.dilation[n]
        inside = 0
        for tap in range(kernel):
            offset = tap * dilation - padding
            first = max(0, -(offset // stride))  # the least step p with p · stride + offset >= 0
            last = min(steps - 1, (reach - 1 - offset) // stride)
            inside += max(0, last - first + 1)
        return inside / (kernel * out)

    def weight_gradient(self, gradient: Tensor, x: Tensor) -> Tensor:
        _, found, _ = torch.ops.aten.convolution_backward(
            gradient,
            x.to(gradient.dtype),
            self.weight.detach().to(gradient.dtype),
            None,
            self.stride,
            self.padding,
            self.dilation,
            self.transposed,
            self.output_padding,
            self.groups,
            (False, True, False),
        )
        return found  # type: ignore[no-any-return]


def product_of(node: Any, saver: Saver) -> Product | None:
    """The layer that a node is, if it multiplies what it saved by a parameter; else None."""
    place = PRODUCTS.get(saver)
    if place is None:
        return None
    weight = parameter_behind(node.next_functions[place][0])
    if weight is None:
        return None
    if "Convolution" not in saver.node:
        return Linear(weight)
    if not hasattr(node, "_saved_transposed"):
        return None
    return Convolution(
        weight,
        stride=node._saved_stride,
        padding=node._saved_padding,
        dilation=node._saved_dilation,
        transposed=node._saved_transposed,
        output_padding=node._saved_output_padding,
        groups=node._saved_groups,
    )
