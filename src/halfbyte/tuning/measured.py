"""A figure that was measured, and how well it is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

__all__ = ["Measured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """A positive figure with how often it was measured and how much it varied.

    Attributes:
        value: the figure.
        count: of how many samples, steps or requests it is made; what is counted is up to the user.
        spread: standard deviation between parts of the measurement, as a share of the value; 0 for one part.
    """

    value: float
    count: int
    spread: float = 0.0

    def __post_init__(self) -> None:
        # Written so that NaN fails too.
        if not (0 < self.value < math.inf and self.count > 0 and 0 <= self.spread < math.inf):
            raise ValueError(
                f"measured {self.value!r} on {self.count!r} with spread {self.spread!r}; "
                f"give a finite value and a count above 0, and a spread of 0 or more"
            )

    @classmethod
    def over(cls, values: Sequence[float], count: int) -> Measured:
        """The mean of equally long parts of a measurement."""
        mean = fmean(values)
        return cls(mean, count, pstdev(values) / mean if mean else 0.0)

    def then(self, value: float, count: int, *, weight: float) -> Measured:
        """With a newer part, which has this weight in (0, 1] against all older ones (exponential smoothing).

        Source: West (CACM 1979), updating mean and variance.
        """
        change = value - self.value
        mean = self.value + weight * change
        variance = (1 - weight) * ((self.spread * self.value) ** 2 + weight * change**2)
        return Measured(mean, self.count + count, math.sqrt(variance) / mean)
