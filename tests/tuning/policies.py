"""Policies that the tests look with."""

from __future__ import annotations

from halfbyte.loader.fidelity import Fidelity, Moment
from halfbyte.tuning import Policy


class EveryStep(Policy):
    """Another fidelity at every step, and a note of when it was asked, and of what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, int]] = []
        self.moments: list[Moment] = []

    def decide(self, moment: Moment) -> Fidelity:
        self.asked.append((moment.epoch, self.step))
        self.moments.append(moment)
        return self.conclude(1 + (self.step + moment.epoch) % 3, "it is time", samples=moment.cost["samples"])
