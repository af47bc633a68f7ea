"""What backward needs of a saved tensor."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Need"]


class Need(IntEnum):
    """What a backward formula reads of a tensor that it saved, least first: of several savers the greatest
    counts, except that SIGN and VALUE together are a value and an exact mask.
    """

    SHAPE = 0
    """Nothing but size and type."""
    SIGN = 1
    """Whether each element is > 0."""
    INDEX = 2
    """Small integers; exact, but in the narrowest type that holds them."""
    TWO_VALUES = 3
    """The value, of which there are only two: 0 and a constant (the noise of dropout)."""
    VALUE = 4
    """The value; a lossy one changes the gradient a little."""
    EXACT = 5
    """The value, exactly: statistics, what a loss reads, what nobody understands."""
