"""The multiples of a step that elements are rounded to."""

from __future__ import annotations

import math
import struct
from functools import lru_cache
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
        shift: by which numbers lie nearer to 0 than multiples of the step: 0, or the bound.
    """

    bound: float
    step: float
    inverse: float
    shift: float


@lru_cache(maxsize=1024)
def grid_of(bound: float, *, signs: bool = False) -> Grid:
    """The grid for errors of at most `bound` > 0, or next to nothing less.

    Args:
        bound: of the error.
        signs: whether 0 stands for 0 alone: numbers lie in the middle between multiples of the step, so that
            what is not 0 goes to the first of them, at least.
    """
    if bound < _LEAST:
        return Grid(0, 0, 0, 0)
    fraction, exponent = math.frexp(min(bound, _GREATEST))
    below = math.ldexp(math.floor(math.ldexp(fraction, 24)), exponent - 24)
    (inverse,) = struct.unpack("f", struct.pack("f", 1 / (2 * below)))
    return Grid(below, 2 * below, inverse, below if signs else 0)
