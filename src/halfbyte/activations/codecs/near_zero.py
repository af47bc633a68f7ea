"""Sparse maps: values near zero become zero, and zeros take next to nothing."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from halfbyte.activations.codecs import code_blocks
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.channel_rows import put_rows, take_rows
from halfbyte.activations.codecs.channels import around_channels
from halfbyte.activations.codecs.dtypes import check_float
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.uniform import quantize, split_parts, step_for

__all__ = ["NearZero"]

_LEAST_BITS, _MOST_BITS = 2, 8


@dataclass(frozen=True)
class NearZero(Codec):
    """Values nearer to 0 than a threshold become 0, others are rounded to multiples of one step: for maps
    that are mostly zeros, as ReLU makes them. A block of 64 zeros takes half a byte; any other takes a bit
    for each element, and for each that is not 0 the bits of the block's largest code.

    Error bound: with m the largest magnitude of the tensor, step = m / 2^bits, or twice that when any element
    is below 0. |x' - x| ≤ step / 2 where |x| ≥ threshold · m, elsewhere |x|; and the rounding of the tensor's
    own type. Zero stays zero, and no sign changes. Tensors whose m is below 1e-35 become zero. A channel that
    holds NaN, Inf or values beyond 1e37 is kept exact, and does not count for m.

    Args:
        threshold: below which values become 0, as a share of m: 0 to 1. Rounding makes 0 of what is below
            half a step anyway.
        bits: of the largest code, 2 to 8; 4 to 6 suit most maps.

    Raises:
        ValueError: an option is not one of these.

    Source: for late layers, after Shi et al., "Transform-based feature map compression for CNN inference"
    (ISCAS 2021, arXiv 2106.12850). The layout of bits is ours, as the paper's could not be read.
    """

    threshold: float = 0.0
    bits: int = 5

    fixed_rate = False

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"NearZero: threshold is {self.threshold}, expected 0 to 1")
        if not _LEAST_BITS <= self.bits <= _MOST_BITS:
            raise ValueError(f"NearZero: bits is {self.bits}, expected {_LEAST_BITS} to {_MOST_BITS}")

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        check_float(self, x)
        layout = Layout(x)
        shape = around_channels(layout, None)
        rows, exact = take_rows(layout.flat(x), shape)
        signed = bool((rows < 0).any())
        levels = 1 << (self.bits - 1 if signed else self.bits)
        step = step_for(rows, levels)
        rows.masked_fill_(rows.abs() < self.threshold * levels * step, 0)
        codes = code_blocks.encode(quantize(rows, step).view(-1), signed=signed)
        return Packed(self, layout, (step, *codes, *exact), detail=(shape, signed))

    def decode(self, packed: Packed) -> Tensor:
        layout, (shape, signed) = packed.layout, packed.detail
        step, codes, exact = split_parts(packed.parts)
        whole = code_blocks.decode(codes, layout.numel, signed=signed)
        return layout.restore(put_rows(whole * step, shape, layout.dtype, exact))

    def __str__(self) -> str:
        threshold = f", below {self.threshold:g}" if self.threshold else ""
        return f"NearZero({self.bits} bits{threshold})"
