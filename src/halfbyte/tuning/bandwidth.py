"""As good as possible without waiting: the fidelity that the link and the cores can keep up with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfbyte.errors import StateError
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import (
    Fidelity,
    FidelityPolicy,
    Moment,
    describe_fidelity,
    fidelity_mix,
)
from halfbyte.tuning.measured import Measured
from halfbyte.tuning.pace import Pace
from halfbyte.tuning.policy import Policy
from halfbyte.tuning.throughput import Throughput

__all__ = ["Bandwidth"]

_Chosen = int | dict[int, float]

_DEVIATIONS = 2  # of a link that varies: what is to spare before the fidelity is raised
_MOST_DOUBT = 0.5  # but no more than this, or a link that has become better would be used late


class Bandwidth(Policy):
    """Lowers fidelity only as far as the run waits for data, and raises it again as soon as that is over.

    It measures what the link brings, what the cores decode and what the model takes while it waits for
    nothing, and predicts the pace at each fidelity: X(k) = min(compute, decode(k), bandwidth / bytes(k)), see
    `Throughput`. While the run waits, it takes the highest k that keeps up with the model. Where the model
    sets the pace it goes to full. Decoding counts as the link does: it too is faster at lower fidelity. The
    log says which of the two it was.

    Where fidelity is bound by what the task bears, another policy says so: ``Bandwidth(StaticQuality())``
    is never below that policy, and above it whenever that costs no waiting.

    The link is judged by what it brought. One with long latency brings less when little is asked of it, so
    fidelity may then stay lower than it could be.

    On a GPU, steps that are only queued seem short while the run waits for data; the first look may then go
    lower than it must, and the next ones correct it.

    Args:
        inner: another policy, asked at every step; what it answers is the least to be read. None for no such
            bound.
        every: steps from one look to the next.
        stall: share of the time that the run may wait, in [0, 1).
        headroom: to go up, the new fidelity must keep up with the model with this much to spare, and with
            more where the link varies from look to look. Between ``stall`` and ``headroom`` nothing changes,
            which keeps it from going up and down by turns.

    Ranks agree: the slowest decides for each figure. ``inner`` must agree by itself.

    Raises:
        ValueError: an option is out of range.

    Source: PCR (VLDB 2021), sections 3 and 5: the pace of training by bytes a sample.
    """

    def __init__(
        self,
        inner: FidelityPolicy | None = None,
        *,
        every: int = 20,
        stall: float = 0.05,
        headroom: float = 0.1,
    ) -> None:
        super().__init__()
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"every={every!r}, expected a number of steps, 1 or more")
        if not (0 <= stall < 1 and headroom >= 0):
            raise ValueError(
                f"stall={stall!r} and headroom={headroom!r}, expected 0 <= stall < 1 and 0 or more"
            )
        if inner is not None and not isinstance(inner, FidelityPolicy):
            raise ValueError(f"inner={inner!r}, expected a policy; for a fixed bound give Fixed({inner!r})")
        self.inner, self.every, self.stall, self.headroom = inner, every, stall, headroom
        self._asked = 0
        self._pace: Pace | None = None

    def begin(self, dataset: Dataset) -> None:
        super().begin(dataset)
        if self.inner is not None:
            self.inner.begin(dataset)

    @property
    def pace(self) -> Pace:
        """What is known of the run.

        Raises:
            RuntimeError: no loader has this policy yet.
        """
        if self._pace is None:
            self._pace = Pace(self.dataset, stall=self.stall)
        return self._pace

    def decide(self, moment: Moment) -> Fidelity:
        least = self._least(moment)
        self.pace.note(moment)
        if self._now is None:
            return self.conclude(None, "nothing is measured yet")
        self._asked += 1
        if self._asked % self.every == 0:
            self._look(self._now, least)
        size = self.pace.model.size
        if size(self._now) < size(least):
            self.conclude(least, self._bound())
        return self._now

    def _least(self, moment: Moment) -> _Chosen:
        if self.inner is None:
            return 1
        return describe_fidelity(fidelity_mix(self.inner.choose(moment), self.dataset.num_levels))

    def _bound(self) -> str:
        return "there is no lower one" if self.inner is None else f"{self.inner!r} asks for no less"

    def _look(self, now: _Chosen, least: _Chosen) -> None:
        first = self.pace.step is None
        waiting = self.pace.look()
        if self.pace.step is None:
            return
        model = self.pace.model
        fidelity = self._choose(model, now, least, waiting)
        if not first and fidelity == now:
            return
        figures = {"waiting": waiting, "images_per_s": model.compute}
        if model.bandwidth:
            figures["bandwidth"] = model.bandwidth.value
        if model.decode:
            figures["decoding"] = model.decoding(now)
        waits = waiting > self.stall
        why = self._waited(model, now, fidelity, waiting) if waits else self._spare(model, fidelity)
        self.conclude(fidelity, why, **figures)

    def _choose(self, model: Throughput, now: _Chosen, least: _Chosen, waiting: float) -> _Chosen:
        levels = range(1, self.dataset.num_levels + 1)
        allowed = [least, *(k for k in levels if model.size(k) > model.size(least))]
        waits = waiting > self.stall
        enough = [f for f in allowed if model.supply(f) >= self._share(model, f, waits) * model.compute]
        best = enough[-1] if enough else least
        falls = model.size(best) < model.size(now)
        return best if falls == waits else now

    def _share(self, model: Throughput, fidelity: _Chosen, waits: bool) -> float:
        """Of the pace of the model, what a fidelity must keep up with to be taken."""
        if waits:
            return 1 - self.stall
        return 1 + max(self.headroom, min(_MOST_DOUBT, _DEVIATIONS * model.supply_spread(fidelity)))

    def _waited(self, model: Throughput, now: _Chosen, then: _Chosen, waiting: float) -> str:
        waited = f"the run waited {100 * waiting:.0f} % of the time"
        if model.link(now) <= model.decoding(now):
            why = f"{waited} for bytes at {_rate(model.bandwidth)}; {_needs(model, then)}"
        else:
            why = (
                f"{waited} for decoding, which gives {_images(model.decoding(now))} at {_name(now)} and "
                f"{_images(model.decoding(then))} at {_name(then)}, where the model takes "
                f"{_images(model.compute)}"
            )
        behind = model.supply(then) < (1 - self.stall) * model.compute
        return f"{why}, and {self._bound()}" if behind else why

    def _spare(self, model: Throughput, then: _Chosen) -> str:
        full = then == self.dataset.num_levels
        return (
            f"{'the model sets the pace: ' if full else ''}{_needs(model, then)}, the link brings "
            f"{_rate(model.bandwidth)}, and decoding gives {_images(model.decoding(then))}"
        )

    def state_dict(self) -> dict[str, Any]:
        return {
            **super().state_dict(),
            "inner": None if self.inner is None else self.inner.state_dict(),
            "asked": self._asked,
            "pace": self.pace.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        inner = state["inner"]
        if (inner is None) != (self.inner is None):
            raise StateError(
                f"state: it is of a Bandwidth {'without' if inner is None else 'with'} an inner policy, "
                f"expected one {'with' if inner is None else 'without'}; give it the inner policy of the run "
                f"that saved it"
            )
        if self.inner is not None:
            self.inner.load_state_dict(inner)
        self._asked = state["asked"]
        self.pace.load_state_dict(state["pace"])

    def __repr__(self) -> str:
        inner = "" if self.inner is None else f"{self.inner!r}, "
        return f"Bandwidth({inner}every={self.every}, stall={self.stall}, headroom={self.headroom})"


def _needs(model: Throughput, fidelity: _Chosen) -> str:
    needed = model.size(fidelity) * model.compute
    return f"{_name(fidelity)} needs {_megabytes(needed)} at {_images(model.compute)}"


def _name(fidelity: _Chosen) -> str:
    return f"fidelity {fidelity}" if isinstance(fidelity, int) else "the mixture"


def _images(per_second: float) -> str:
    return f"{per_second:,.0f} images/s"


def _rate(bandwidth: Measured | None) -> str:
    return "an unknown rate" if bandwidth is None else _megabytes(bandwidth.value)


def _megabytes(per_second: float) -> str:
    return f"{per_second / 1e6:,.{1 if per_second >= 1e6 else 3}f} MB/s"
