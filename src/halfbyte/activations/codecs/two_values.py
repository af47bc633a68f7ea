"""Tensors of 0 and one constant."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import bits, kernels
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.dtypes import check_float
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import masks as reference

__all__ = ["TwoValues"]


@dataclass(frozen=True)
class TwoValues(Codec):
    """The noise of dropout: every element is +0 or one and the same other value. One bit an element, exact;
    values are compared as bits, so that -0 is a value of its own.
    """

    lossless = True
    fixed_rate = False  # the size is known beforehand, but not whether the tensor fits

    @staticmethod
    def fits(x: Tensor) -> bool:
        """Whether `x`, of any type, can be encoded. Stops at the first element that is neither value."""
        if x.dtype not in kernels.ELEMENTS:
            return False
        flat = Layout(x).flat(x)
        if not kernels.runs_natively(flat):
            return reference.other_value(flat) is not None
        return _pack(flat, 0) is not None

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        """Encode a tensor.

        Args:
            x: float32, bfloat16 or float16.
            key: not used.

        Raises:
            ValueError: `x` holds more values.
        """
        check_float(self, x)
        layout = Layout(x)
        flat = layout.flat(x)
        if kernels.runs_natively(flat):
            mask = torch.empty((layout.numel + 7) // 8, dtype=torch.uint8)
            pattern = _pack(flat, mask.data_ptr())
        else:
            pattern = reference.other_value(flat)
            mask = bits.pack_nonzero(flat)
        if pattern is None:
            raise ValueError(
                f"TwoValues encodes 0 and one other value; a {x.dtype} tensor of size {tuple(x.shape)} holds "
                "more: ask TwoValues.fits first"
            )
        return Packed(self, layout, (mask,), detail=pattern)

    def decode(self, packed: Packed) -> Tensor:
        layout = packed.layout
        return layout.restore(bits.unpack(packed.parts[0], layout.numel, layout.dtype, packed.detail))

    def __str__(self) -> str:
        return "TwoValues"


def _pack(flat: Tensor, mask: int) -> int | None:
    return _native.pack_two_values(
        flat.data_ptr(), flat.element_size(), flat.numel(), mask, kernels.num_threads()
    )
