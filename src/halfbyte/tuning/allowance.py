"""How much of a run's time may go into probing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfbyte.loader.fidelity import Moment

__all__ = ["Allowance"]


class Allowance:
    """Keeps an account of a run's wall seconds and of those that its probes took.

    Args:
        share: of the time inside iterations that probes may take, above 0; `math.inf` for any.

    Attributes:
        seconds: inside iterations, probes included; goes on over resumes.
        spent: of these, inside probes.

    Raises:
        ValueError: the share is not above 0.
    """

    def __init__(self, share: float) -> None:
        if not share > 0:
            raise ValueError(f"share of {share!r}, expected a number above 0, such as 0.02")
        self.share = share
        self.seconds = 0.0
        self.spent = 0.0
        self._samples = 0
        self._last = 0.0
        self._seen: tuple[float, int] | None = None

    def see(self, moment: Moment) -> None:
        """Count what passed since the last moment."""
        now = (moment.seconds, int(moment.cost["samples"]))
        # A loader starts from 0 where a run is resumed, and its counters where they are reset.
        before = self._seen or now
        self.seconds += max(0.0, now[0] - before[0])
        self._samples += max(0, now[1] - before[1])
        self._seen = now

    def missing(self, samples: int) -> float:
        """Seconds that must pass before the next probe is within the share; 0 or less if none.

        Args:
            samples: passes of a sample through the model that the probe makes at most. It is taken to cost
                what the last probe did; the first, what so many samples cost in training.
        """
        trained = (self.seconds - self.spent) / self._samples if self._samples else 0.0
        expected = self._last or samples * trained
        return (self.spent + expected) / self.share - self.seconds

    def charge(self, seconds: float) -> None:
        """Count a probe; its seconds are seen as those of the iteration later."""
        self.spent += seconds
        self._last = seconds

    def state_dict(self) -> dict[str, Any]:
        """The account as JSON values."""
        return {
            "seconds": self.seconds,
            "samples": self._samples,
            "spent": self.spent,
            "last": self._last,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved account."""
        self.seconds, self._samples = state["seconds"], state["samples"]
        self.spent, self._last = state["spent"], state["last"]
        self._seen = None
