"""Zero-value coding in torch operations."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte.activations.codecs.dtypes import INTEGERS
from halfbyte.activations.codecs.reference import masks

__all__ = ["compact", "expand", "scan"]


def scan(flat: Tensor) -> tuple[Tensor, bool]:
    """Which elements have any bit set, and whether some element is negative, -0 or NaN.

    Args:
        flat: float32, bfloat16 or float16, shape (n,).

    Returns:
        the mask, uint8, shape (⌈n / 8⌉,); and the answer.
    """
    patterns = flat.view(INTEGERS[flat.element_size()])
    return masks.pack(patterns != 0), bool(((patterns < 0) | flat.isnan()).any())


def compact(flat: Tensor, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The elements whose bit is set, as `dtype`."""
    return flat[masks.unpack(mask, flat.numel())].to(dtype)


def expand(mask: Tensor, count: int, values: Tensor, dtype: torch.dtype) -> Tensor:
    """Values where bits are set, zeros elsewhere: `count` elements of `dtype`.

    Raises:
        ValueError: the mask does not go with `count` elements and these values.
    """
    holds = masks.unpack(mask, count)
    if int(holds.sum()) != values.numel() or not torch.equal(masks.pack(holds), mask):
        found = f"the mask of {count} elements does not go with {values.numel()} values"
        raise ValueError(f"packed bytes are damaged: {found}")
    return torch.zeros(count, dtype=dtype, device=mask.device).masked_scatter_(holds, values.to(dtype))
