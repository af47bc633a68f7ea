"""Bits of a tensor: packed eight a byte and spread again, natively where that is possible."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import kernels, memory
from halfbyte.activations.codecs.dtypes import INTEGERS
from halfbyte.activations.codecs.reference import masks as reference

__all__ = ["on_cpu", "pack_nonzero", "pack_positive", "unpack"]


def on_cpu(x: Tensor) -> bool:
    """Whether native kernels for any type of element take this tensor."""
    return x.device.type == "cpu"


def pack_positive(flat: Tensor) -> tuple[Tensor, bool]:
    """Which elements are > 0 or NaN, and whether there may be NaN.

    Args:
        flat: float32, bfloat16 or float16, shape (n,).

    Returns:
        uint8, shape (⌈n / 8⌉,); and whether any element is NaN: False on devices that would have to be waited
        for.
    """
    if not kernels.runs_natively(flat):
        return reference.pack(~(flat <= 0)), False
    count = flat.numel()
    bits = torch.empty((count + 7) // 8, dtype=torch.uint8)
    nans = _native.pack_positive(
        flat.data_ptr(), kernels.ELEMENTS[flat.dtype], count, bits.data_ptr(), kernels.num_threads()
    )
    return bits, nans


def pack_nonzero(flat: Tensor) -> Tensor:
    """Which elements have any bit set: -0.0 and NaN do.

    Args:
        flat: any type of 1, 2 or 4 bytes, shape (n,).

    Returns:
        uint8, shape (⌈n / 8⌉,).
    """
    width = flat.element_size()
    if not on_cpu(flat):
        return reference.pack(flat.view(INTEGERS[width]) != 0)
    count = flat.numel()
    bits = torch.empty((count + 7) // 8, dtype=torch.uint8)
    _native.pack_nonzero(flat.data_ptr(), width, count, bits.data_ptr(), kernels.num_threads())
    return bits


def unpack(bits: Tensor, count: int, dtype: torch.dtype, pattern: int) -> Tensor:
    """A tensor that holds one of two values.

    Args:
        bits: uint8, shape (⌈count / 8⌉,).
        count: elements.
        dtype: any type of 1, 2 or 4 bytes.
        pattern: the bits of the value where a bit is set; elsewhere it is 0.

    Raises:
        ValueError: `bits` is not of that shape.
    """
    if not on_cpu(bits):
        integers = INTEGERS[dtype.itemsize]
        value = torch.full((), pattern, dtype=torch.int64, device=bits.device).to(integers)
        return torch.where(reference.unpack(bits, count), value, 0).view(dtype)
    out = memory.empty(count, dtype)
    _native.unpack_bits(
        bits.data_ptr(), bits.numel(), count, pattern, dtype.itemsize, out.data_ptr(), kernels.num_threads()
    )
    return out
