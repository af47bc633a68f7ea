"""Integers: where maxima were found, labels, rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import bits, kernels, memory
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import indices as reference

__all__ = ["Indices"]

_TYPES = {torch.uint8: 0, torch.int16: 1, torch.int32: 2, torch.int64: 3}
"""The codes of integer types at the native border, narrowest first."""


@dataclass(frozen=True)
class Indices(Codec):
    """uint8, int16, int32 or int64, in the narrowest of the first three that holds the least and the greatest
    element. Exact; integers beyond 32 bits are kept as they are.
    """

    lossless = True
    fixed_rate = False

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        if x.dtype not in _TYPES:
            raise TypeError(f"Indices encodes uint8, int16, int32 and int64, not {x.dtype}: keep that exact")
        layout = Layout(x)
        flat = layout.flat(x)
        narrow = _narrowest(flat)
        return Packed(self, layout, (_convert(flat, narrow),), why=_why(narrow, x.dtype))

    def decode(self, packed: Packed) -> Tensor:
        layout, part = packed.layout, packed.parts[0]
        if part.numel() != layout.numel:
            raise ValueError(f"packed bytes are damaged: {part.numel()} integers, expected {layout.numel}")
        return layout.restore(_convert(part, layout.dtype))

    def __str__(self) -> str:
        return "Indices"


def _why(narrow: torch.dtype, dtype: torch.dtype) -> str:
    return f"no narrower type than {dtype} holds its integers" if narrow == dtype else ""


def _narrowest(flat: Tensor) -> torch.dtype:
    if flat.numel() == 0 or flat.dtype == torch.uint8:
        return torch.uint8
    least, greatest = _range(flat)
    for dtype in _TYPES:
        limits = torch.iinfo(dtype)
        if limits.min <= least and greatest <= limits.max:
            return dtype
    return flat.dtype


def _range(flat: Tensor) -> tuple[int, int]:
    if not bits.on_cpu(flat):
        return reference.integer_range(flat)
    return _native.integer_range(flat.data_ptr(), _TYPES[flat.dtype], flat.numel(), kernels.num_threads())


def _convert(flat: Tensor, dtype: torch.dtype) -> Tensor:
    if not bits.on_cpu(flat):
        return reference.convert(flat, dtype)
    count = flat.numel()
    out = memory.empty(count, dtype)
    _native.convert_integers(
        flat.data_ptr(), _TYPES[flat.dtype], count, out.data_ptr(), _TYPES[dtype], kernels.num_threads()
    )
    return out
