"""How codecs reach the native kernels."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from halfbyte import _native

__all__ = ["ELEMENTS", "num_threads", "runs_natively"]

ELEMENTS = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}
"""The codes of element types at the native border."""


def runs_natively(x: Tensor) -> bool:
    """Whether the native kernels take this tensor; otherwise the same is done in torch operations."""
    return x.is_cpu and x.dtype in ELEMENTS


def num_threads() -> int:
    """Threads for a kernel: as many as torch uses, and the very ones where they can be borrowed."""
    _borrow_threads()
    return torch.get_num_threads()


@cache
def _borrow_threads() -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return
    loaded = {line.split()[-1] for line in maps.read_text().splitlines() if "omp" in line.rpartition("/")[2]}
    for path in sorted(loaded):
        try:
            entry = ctypes.CDLL(path).GOMP_parallel
        except (OSError, AttributeError):
            continue
        _native.set_openmp(ctypes.cast(entry, ctypes.c_void_p).value or 0)
        return
