"""What a run of steps cost: differences of the sums that a loader reports."""

from __future__ import annotations

from collections.abc import Mapping

from halfbyte.loader.fidelity import Moment

__all__ = ["Window", "growth"]

_SECONDS = "seconds"


class Window:
    """Sums since it was last emptied, by name: the counters of a loader, and ``seconds`` inside iterations.

    The first moment it is told only says where the sums stand, as those of a resumed loader start again from
    zero.
    """

    def __init__(self) -> None:
        self._before: dict[str, float] | None = None
        self.sums: dict[str, float] = {}

    def note(self, moment: Moment) -> None:
        """Add what came since the moment before."""
        now = {_SECONDS: moment.seconds, **moment.cost}
        if self._before is not None:
            for name, value in now.items():
                self.sums[name] = self.sums.get(name, 0) + growth(self._before.get(name, 0), value)
        self._before = now

    def take(self) -> dict[str, float]:
        """The sums; then it is empty."""
        sums, self.sums = self.sums, {}
        return sums

    def resume(self, sums: Mapping[str, float]) -> None:
        """Go on from saved sums, with a loader that counts anew."""
        self._before, self.sums = None, dict(sums)


def growth(before: float, now: float) -> float:
    """By how much a sum grew; one that is smaller than before was reset in between."""
    return now - before if now >= before else now
