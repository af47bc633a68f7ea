"""Types of elements: what codecs take, and how they look as bits."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.codecs.kernels import ELEMENTS

__all__ = ["INTEGERS", "ONE", "check_float"]

INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
"""The integer type of as many bytes."""

ONE = {torch.float32: 0x3F80_0000, torch.bfloat16: 0x3F80, torch.float16: 0x3C00, torch.bool: 1}
"""The bits of the number 1."""


def check_float(codec: Codec, x: Tensor) -> None:
    """Raise TypeError unless `x` is of a type that lossy codecs know."""
    if x.dtype not in ELEMENTS:
        raise TypeError(f"{codec} encodes float32, bfloat16 and float16, not {x.dtype}: keep that exact")
