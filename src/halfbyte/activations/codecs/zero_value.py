"""Zero-value coding: a bit an element, and the elements that are not zero."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import bits, kernels, memory
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.cast import HALVES, Half, overflows
from halfbyte.activations.codecs.dtypes import ONE, check_float
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import zero_value as reference

__all__ = ["ZeroValue"]


@dataclass(frozen=True)
class ZeroValue(Codec):
    """One bit an element, and the elements of which any bit is set (so -0 and NaN are). Exact, unless cast:
    then zeros are exact and other values are as `Cast` makes them; a tensor whose values would overflow, or
    have 16 bits already, is not cast. Tensors without negative elements and NaN hold their mask.

    Bytes: n/8 + d·n·(2 or 4), where d is the share of elements that are not zero.

    Args:
        cast: the type in which the values of float32 tensors are held; None for their own.

    Raises:
        ValueError: `cast` is another type.

    Source: Rhu et al., "Compressing DMA Engine" (HPCA 2018); with a cast, the sparse storage of Jain et al.,
    "Gist" (ISCA 2018).
    """

    cast: Half | None = None

    fixed_rate = False

    def __post_init__(self) -> None:
        if self.cast is not None and self.cast not in HALVES:
            raise ValueError(f"ZeroValue cast to {self.cast!r}, expected None or one of {sorted(HALVES)}")
        object.__setattr__(self, "lossless", self.cast is None)

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        check_float(self, x)
        layout = Layout(x)
        flat = layout.flat(x)
        mask, count, negative = _scan(flat)
        dtype, why = self._type_of_values(x.dtype)
        values = _compact(flat, mask, count, dtype)
        if values is None:
            dtype, why = x.dtype, f"too large for {self.cast}"
            values = _compact(flat, mask, count, dtype)
            assert values is not None
        return Packed(self, layout, (mask, values), detail=negative, why=why)

    def _type_of_values(self, dtype: torch.dtype) -> tuple[torch.dtype, str]:
        if self.cast is None:
            return dtype, ""
        if dtype != torch.float32:
            return dtype, f"{dtype} has 16 bits already"
        return HALVES[self.cast], ""

    def decode(self, packed: Packed) -> Tensor:
        layout = packed.layout
        mask, values = packed.parts
        return layout.restore(_expand(mask, layout.numel, values, layout.dtype))

    def holds_mask(self, packed: Packed) -> bool:
        return not packed.detail

    def decode_mask(self, packed: Packed) -> Tensor:
        layout = packed.layout
        return layout.restore(bits.unpack(packed.parts[0], layout.numel, layout.dtype, ONE[layout.dtype]))

    def __str__(self) -> str:
        return f"ZeroValue({self.cast})" if self.cast else "ZeroValue"


def _scan(flat: Tensor) -> tuple[Tensor, int, bool]:
    """The mask, the number of values (-1 when it is not known), and whether an element is negative or NaN."""
    if not kernels.runs_natively(flat):
        mask, negative = reference.scan(flat)
        return mask, -1, negative
    count = flat.numel()
    mask = torch.empty((count + 7) // 8, dtype=torch.uint8)
    element = kernels.ELEMENTS[flat.dtype]
    num_values, negative = _native.scan_zeros(
        flat.data_ptr(), element, count, mask.data_ptr(), kernels.num_threads()
    )
    return mask, num_values, negative


def _compact(flat: Tensor, mask: Tensor, count: int, dtype: torch.dtype) -> Tensor | None:
    """The values, or None when finite ones would not stay so."""
    if not kernels.runs_natively(flat):
        values = reference.compact(flat, mask, flat.dtype)
        cast = values.to(dtype)
        return None if overflows(values, cast) else cast
    values = memory.empty(count, dtype)
    stay_finite = _native.compact(
        flat.data_ptr(),
        kernels.ELEMENTS[flat.dtype],
        flat.numel(),
        mask.data_ptr(),
        values.data_ptr(),
        kernels.ELEMENTS[dtype],
        kernels.num_threads(),
    )
    return values if stay_finite else None


def _expand(mask: Tensor, count: int, values: Tensor, dtype: torch.dtype) -> Tensor:
    if not kernels.runs_natively(values):
        return reference.expand(mask, count, values, dtype)
    out = memory.empty(count, dtype)
    _native.expand(
        mask.data_ptr(),
        mask.numel(),
        count,
        values.data_ptr(),
        kernels.ELEMENTS[values.dtype],
        values.numel(),
        out.data_ptr(),
        kernels.ELEMENTS[dtype],
        kernels.num_threads(),
    )
    return out
