"""The multiples of a step that elements are rounded to."""

from __future__ import annotations

import math
import struct
from functools import cache
from typing import NamedTuple

__all__ = ["Grid", "grid_of"]

_LEAST, _GREATEST = 2.0**-120, 2.0**124
"""Between them a step and its inverse are normal numbers of float32."""


class Grid(NamedTuple):
    """Numbers that float32 holds.

    Attributes:
        bound: of the error.
        step: twice the bound. 0: only zeros are multiples.
        inverse: of the step, or 0.
    """

    bound: float
    step: float
    inverse: float


@cache
def grid_of(bound: float) -> Grid:
    """The grid for errors of at most `bound` > 0, or next to nothing less."""
    if bound < _LEAST:
        return Grid(0, 0, 0)
    fraction, exponent = math.frexp(min(bound, _GREATEST))
    below = math.ldexp(math.floor(math.ldexp(fraction, 24)), exponent - 24)
    (inverse,) = struct.unpack("f", struct.pack("f", 1 / (2 * below)))
    return Grid(below, 2 * below, inverse)
