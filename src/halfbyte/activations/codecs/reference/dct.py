"""The DCT of type II of up to 8 points and its inverse, step by step as native/tensor/dct.hpp does it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["factor", "forward_dct", "inverse_dct", "round_to_integers"]


def forward_dct(x: Tensor, dim: int) -> Tensor:
    """The transform along a dimension: its coefficients times `factor`.

    Args:
        x: float32, of 1 to 8 elements along `dim`.
        dim: the dimension.

    Source: Arai, Agui and Nakajima, "A fast DCT-SQ scheme for images" (1988), for 8 points.
    """
    points = x.unbind(dim)
    return torch.stack(_forward_8(points) if len(points) == 8 else _forward_short(points), dim)


def inverse_dct(x: Tensor, dim: int) -> Tensor:
    """The inverse along a dimension, of coefficients times `factor` / 8, or of coefficients of less than 8
    points.
    """
    points = x.unbind(dim)
    return torch.stack(_inverse_8(points) if len(points) == 8 else _inverse_short(points), dim)


def factor(points: int, k: int) -> float:
    """What the forward transform multiplies the k-th orthonormal coefficient with."""
    if points < 8:
        return 1.0
    return math.sqrt(8.0) if k == 0 else 4 * math.cos(k * math.pi / 16)


def round_to_integers(x: Tensor) -> Tensor:
    """To integers, ties to even, for |x| < 2^22, without negative zero: next to 1.5 · 2^23 the last bit of
    float32 is worth 1.
    """
    return (x + 12582912.0) - 12582912.0


def _forward_8(x: tuple[Tensor, ...]) -> list[Tensor]:
    s0, s1, s2, s3 = (x[i] + x[7 - i] for i in range(4))
    d0, d1, d2, d3 = (x[i] - x[7 - i] for i in range(4))
    outer, inner, across = s0 + s3, s1 + s2, s0 - s3
    turned = (across + (s1 - s2)) * 0.70710678118654752
    low, middle, high = d3 + d2, (d2 + d1) * 0.70710678118654752, d1 + d0
    shared = (low - high) * 0.38268343236508977
    slow, fast = low * 0.54119610014619698 + shared, high * 1.3065629648763766 + shared
    plus, minus = d0 + middle, d0 - middle
    even = (outer + inner, across + turned, outer - inner, across - turned)
    odd = (plus + fast, minus - slow, minus + slow, plus - fast)
    return [both for pair in zip(even, odd, strict=True) for both in pair]


def _inverse_8(x: tuple[Tensor, ...]) -> list[Tensor]:
    total, difference, both = x[0] + x[4], x[0] - x[4], x[2] + x[6]
    rest = (x[2] - x[6]) * 1.4142135623730950 - both
    even = (total + both, difference + rest, difference - rest, total - both)
    inner, inner_less, outer, outer_less = x[5] + x[3], x[5] - x[3], x[1] + x[7], x[1] - x[7]
    shared = (inner_less + outer_less) * 1.8477590650225736
    o0 = outer + inner
    o1 = (shared - inner_less * 2.6131259297527531) - o0
    o2 = (outer - inner) * 1.4142135623730950 - o1
    o3 = (shared - outer_less * 1.0823922002923939) - o2
    odd = (o0, o1, o2, o3)
    first = [e + o for e, o in zip(even, odd, strict=True)]
    last = [e - o for e, o in zip(even, odd, strict=True)]
    return first + last[::-1]


def _basis(points: int, k: int, i: int) -> float:
    return math.sqrt((1.0 if k == 0 else 2.0) / points) * math.cos(math.pi * (2 * i + 1) * k / (2 * points))


def _forward_short(x: tuple[Tensor, ...]) -> list[Tensor]:
    n, half = len(x), len(x) // 2
    if n == 1:
        return list(x)
    sums = [x[i] + x[n - 1 - i] for i in range(half)] + list(x[half : n - half])
    differences = [x[i] - x[n - 1 - i] for i in range(half)]
    return [_product(differences if k % 2 else sums, [_basis(n, k, i) for i in range(n)]) for k in range(n)]


def _inverse_short(x: tuple[Tensor, ...]) -> list[Tensor]:
    n, half = len(x), len(x) // 2
    if n == 1:
        return list(x)
    even = [_product(x[::2], [_basis(n, k, i) for k in range(0, n, 2)]) for i in range(n - half)]
    odd = [_product(x[1::2], [_basis(n, k, i) for k in range(1, n, 2)]) for i in range(half)]
    first = [even[i] + odd[i] for i in range(half)]
    last = [even[i] - odd[i] for i in range(half)]
    return first + even[half:] + last[::-1]


def _product(x: list[Tensor] | tuple[Tensor, ...], weights: list[float]) -> Tensor:
    total = x[0] * weights[0]
    for element, weight in zip(x[1:], weights[1:], strict=False):
        total = total + element * weight
    return total
