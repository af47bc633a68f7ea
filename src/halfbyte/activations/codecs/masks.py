"""One bit an element: signs of activations, and booleans."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import bits, kernels
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.dtypes import ONE, check_float
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import masks as reference

__all__ = ["Bits", "ReluMask", "apply_mask"]


@dataclass(frozen=True)
class ReluMask(Codec):
    """Whether each element is > 0: all that the backward of ReLU reads. One bit an element; decoded to 1 and
    0, exactly. Where NaN was NaN comes back, for one more bit an element: the backward of ReLU lets gradients
    pass there, that of LeakyReLU takes the slope. On other devices than the CPU, where to look for NaN would
    mean to wait, it comes back as 1.

    Source: GIST (ISCA 2018) §3, "binarize"; JPEG-ACT (ISCA 2020) §III, "BRC".
    """

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        check_float(self, x)
        layout = Layout(x)
        flat = layout.flat(x)
        mask, has_nan = bits.pack_positive(flat)
        return Packed(self, layout, (mask, reference.pack(flat.isnan())) if has_nan else (mask,))

    def decode(self, packed: Packed) -> Tensor:
        layout = packed.layout
        mask, *nans = packed.parts
        flat = bits.unpack(mask, layout.numel, layout.dtype, ONE[layout.dtype])
        for nan in nans:
            flat.masked_fill_(reference.unpack(nan, layout.numel), torch.nan)
        return layout.restore(flat)

    def holds_mask(self, packed: Packed) -> bool:
        return True

    def decode_mask(self, packed: Packed) -> Tensor:
        return self.decode(packed)

    def __str__(self) -> str:
        return "ReluMask"


@dataclass(frozen=True)
class Bits(Codec):
    """Booleans, eight a byte. Exact."""

    lossless = True

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        if x.dtype != torch.bool:
            raise TypeError(f"Bits encodes torch.bool, not {x.dtype}")
        layout = Layout(x)
        return Packed(self, layout, (bits.pack_nonzero(layout.flat(x)),))

    def decode(self, packed: Packed) -> Tensor:
        layout = packed.layout
        return layout.restore(bits.unpack(packed.parts[0], layout.numel, torch.bool, ONE[torch.bool]))

    def __str__(self) -> str:
        return "Bits"


def apply_mask(x: Tensor, mask: Packed) -> Tensor:
    """Set `x` to +0 in place where the tensor of `mask` was <= 0, whatever is there now (NaN too).

    Args:
        x: another codec's decoded tensor of the same original, in memory of its own; or its elements in
            memory order, shape (numel,).
        mask: what `ReluMask` made of the original.

    Returns:
        `x`.

    Raises:
        ValueError: `x` is not laid out or typed like the original.
    """
    layout = mask.layout
    flat = _in_memory_order(x, layout)
    if not kernels.runs_natively(x):
        flat.masked_fill_(~reference.unpack(mask.parts[0], layout.numel), 0)
        return x
    part = mask.parts[0]
    _native.apply_mask(
        part.data_ptr(), part.numel(), layout.numel, x.element_size(), x.data_ptr(), kernels.num_threads()
    )
    return x


def _in_memory_order(x: Tensor, layout: Layout) -> Tensor:
    if x.dtype == layout.dtype:
        if x.shape == layout.size and x.stride() == layout.restored_stride:
            return x.as_strided((layout.numel,), (1,))
        if x.shape == (layout.numel,) and x.is_contiguous():
            return x
    raise ValueError(
        f"mask of {layout.dtype} of size {tuple(layout.size)} and strides {layout.restored_stride} cannot be "
        f"applied to {x.dtype} of {tuple(x.shape)} and {x.stride()}: decode both from the same tensor"
    )
