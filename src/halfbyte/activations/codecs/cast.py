"""Floats in half the bytes, by torch's own conversion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.dtypes import check_float
from halfbyte.activations.codecs.layout import Layout

__all__ = ["HALVES", "Cast", "Half", "overflows"]

Half = Literal["bfloat16", "float16"]
HALVES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Cast(Codec):
    """float32 in a type of 16 bits, rounded to nearest, ties to even.

    Error bound: |x' - x| ≤ max(2⁻⁸·|x|, 2⁻¹³⁴) as bfloat16, max(2⁻¹¹·|x|, 2⁻²⁵) as float16. A tensor with
    finite elements that would become infinite (from 65520 as float16, from 3.39e38 as bfloat16) is kept as it
    is, and so are tensors of 16 bits.

    Args:
        to: "bfloat16" keeps the range of float32, "float16" three more bits of precision.

    Raises:
        ValueError: `to` is neither.
    """

    to: Half = "bfloat16"

    fixed_rate = False  # whether elements overflow is not known beforehand

    def __post_init__(self) -> None:
        if self.to not in HALVES:
            raise ValueError(f"Cast to {self.to!r}, expected one of {sorted(HALVES)}")

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        check_float(self, x)
        layout = Layout(x)
        flat = layout.flat(x)
        if flat.element_size() == 2:
            return Packed(self, layout, (flat.clone(),), why=f"{x.dtype} has 16 bits already")
        half = flat.to(HALVES[self.to])
        if overflows(flat, half):
            return Packed(self, layout, (flat.clone(),), why=f"too large for {self.to}")
        return Packed(self, layout, (half,))

    def decode(self, packed: Packed) -> Tensor:
        layout, part = packed.layout, packed.parts[0]
        if part.numel() != layout.numel:
            raise ValueError(f"packed bytes are damaged: {part.numel()} elements, expected {layout.numel}")
        return layout.restore(part.to(layout.dtype, copy=True))

    def __str__(self) -> str:
        return f"Cast({self.to})"


def overflows(flat: Tensor, half: Tensor) -> bool:
    """Whether a finite element of `flat` is infinite in `half`."""
    if half.numel() == 0:
        return False
    least, greatest = half.aminmax()  # NaN when there is one
    if math.isfinite(greatest.item() - least.item()):
        return False
    return bool((half.isinf() & flat.isfinite()).any())
