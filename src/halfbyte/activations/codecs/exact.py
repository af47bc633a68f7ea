"""Tensors kept as they are."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.layout import Layout

__all__ = ["Exact"]


@dataclass(frozen=True)
class Exact(Codec):
    """The tensor itself, of any type: no copy is made, so whoever writes to it later must be noticed by its
    version. A small part of a large storage is copied, so as not to keep all of that alive.
    """

    lossless = True

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        layout = Layout(x)
        if x.untyped_storage().nbytes() <= 2 * layout.numel * x.element_size():
            return Packed(self, layout, (x.detach(),))
        flat = layout.flat(x.detach())
        return Packed(self, layout, (layout.restore(flat.clone() if layout.dense else flat),))

    def decode(self, packed: Packed) -> Tensor:
        return packed.parts[0]

    def holds_mask(self, packed: Packed) -> bool:
        return not packed.layout.dtype.is_complex

    def decode_mask(self, packed: Packed) -> Tensor:
        layout = packed.layout
        return layout.restore((layout.flat(packed.parts[0]) > 0).to(layout.dtype))

    def __str__(self) -> str:
        return "Exact"
