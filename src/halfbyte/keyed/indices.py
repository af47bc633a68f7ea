"""Checks of index arrays that every pure part of the loader shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["check_inside", "whole_numbers"]


def whole_numbers(values: ArrayLike, what: str) -> NDArray[np.int64]:
    """Return integers as int64 (n,); `what` names them (plural) in the error.

    Raises:
        TypeError: they are no integers; converting them would cut fractions off silently.
    """
    numbers = np.asarray(values)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError(f"{what} are {numbers.dtype}, expected integers; convert them with .astype(int)")
    return numbers.astype(np.int64).reshape(-1)


def check_inside(values: ArrayLike, stop: int, what: str) -> NDArray[np.int64]:
    """Return integers as int64 (n,); `what` names one of them in the error.

    Raises:
        TypeError: they are no integers.
        IndexError: one is outside [0, stop).
    """
    inside = whole_numbers(values, f"{what}s")
    wrong = inside[(inside < 0) | (inside >= stop)]
    if wrong.size:
        raise IndexError(f"{what} {wrong[0]} is outside [0, {stop}); ask for one that exists")
    return inside
