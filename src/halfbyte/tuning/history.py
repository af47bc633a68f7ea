"""What a run has cost so far, at moments spread evenly over it: the time series that a report draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from halfbyte.loader.fidelity import Moment
from halfbyte.tuning.window import growth

__all__ = ["History", "Row"]

_MOST_ROWS = 256


class Row(NamedTuple):
    """One moment: when it was, what is read from then on, and sums since the run began.

    Attributes:
        asked: how often the policy had been asked before.
        epoch, step: as of a `Decision`.
        fidelity: k, or the mean of a mixture.
        seconds: wall seconds inside iterations.
        bytes_read: bytes that came from the store.
        stall_seconds: wall seconds of waiting for a batch.
        samples: samples delivered.
    """

    asked: int
    epoch: int
    step: int
    fidelity: float
    seconds: float
    bytes_read: float
    stall_seconds: float
    samples: float


class History:
    """A row for every n-th moment, and for the last. n doubles whenever there are 256 rows: they are then
    thinned to every other one, so that a long run needs no more memory than a short one.

    Sums go on where they were after a resume, and when counters are reset.
    """

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._every = 1
        self._last: Row | None = None
        self._seen: tuple[float, ...] | None = None  # the sums of the last moment, as it gave them

    @property
    def rows(self) -> tuple[Row, ...]:
        """Oldest first."""
        if self._last is None or (self._rows and self._rows[-1] == self._last):
            return tuple(self._rows)
        return (*self._rows, self._last)

    def note(self, moment: Moment, *, step: int, fidelity: float) -> None:
        """Add a moment at which the policy was asked, and what it answered."""
        asked = 0 if self._last is None else self._last.asked + 1
        self._last = Row(asked, moment.epoch, step, fidelity, *self._sums(moment))
        self._seen = _sums_of(moment)
        if asked % self._every == 0:
            self._rows.append(self._last)
        if len(self._rows) >= _MOST_ROWS:
            self._rows = self._rows[::2]
            self._every *= 2

    def up_to(self, moment: Moment) -> tuple[Row, ...]:
        """The rows, and one for this moment: what the last batches cost is in no other."""
        if self._last is None:
            return ()
        last = self._last
        end = Row(last.asked + 1, last.epoch, last.step + 1, last.fidelity, *self._sums(moment))
        return (*self.rows, end)

    def state_dict(self) -> dict[str, Any]:
        """As JSON values; some twenty kilobytes at most."""
        last = None if self._last is None else list(self._last)
        return {"every": self._every, "rows": [list(row) for row in self._rows], "last": last}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._every = state["every"]
        self._rows = [Row(*row) for row in state["rows"]]
        self._last = None if state["last"] is None else Row(*state["last"])
        self._seen = None

    def _sums(self, moment: Moment) -> list[float]:
        now = _sums_of(moment)
        seen = now if self._seen is None else self._seen
        before = (0.0,) * len(now) if self._last is None else self._last[-len(now) :]
        return [b + growth(s, n) for b, s, n in zip(before, seen, now, strict=True)]


def _sums_of(moment: Moment) -> tuple[float, ...]:
    cost = moment.cost
    return moment.seconds, cost["bytes_read"], cost["stall_seconds"], cost["samples"]
