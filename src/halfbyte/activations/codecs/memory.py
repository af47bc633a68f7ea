"""Memory for what codecs write."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte import _native

__all__ = ["empty"]

_LARGE = 8 << 20  # bytes; smaller blocks are mostly used again by the allocator, with their pages


def empty(count: int, dtype: torch.dtype) -> Tensor:
    """An uninitialized tensor on the CPU, shape (count,). Large ones lie in huge pages where the system lends
    them: to fill new memory is twice as fast then.
    """
    out = torch.empty(count, dtype=dtype)
    if out.nbytes >= _LARGE:
        _native.advise_huge_pages(out.data_ptr(), out.nbytes)
    return out
