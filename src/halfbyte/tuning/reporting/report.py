"""What happened over time: fidelity, bytes, waiting, and what was decided from what."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from halfbyte.loader.fidelity import FidelityPolicy, Moment
from halfbyte.tuning.decision import Decision
from halfbyte.tuning.history import Row
from halfbyte.tuning.policy import Policy
from halfbyte.tuning.reporting.page import write_page

__all__ = ["Report", "Run", "report"]


class Run(Protocol):
    """What has a policy and knows what reading has cost: a `Loader`, a `Steering`, a trainer's callback."""

    @property
    def policy(self) -> FidelityPolicy | None: ...
    @property
    def moment(self) -> Moment: ...


@dataclass(frozen=True)
class Report:
    """A run up to now.

    Attributes:
        policy, data: as they call themselves.
        bytes_a_sample: that each fidelity reads, on the average over the data set, from 1 on.
        rows: what it has cost, moment by moment.
        decisions: what was decided.
    """

    policy: str
    data: str
    bytes_a_sample: tuple[float, ...]
    rows: tuple[Row, ...]
    decisions: tuple[Decision, ...]

    def seconds(self, moments: Iterable[tuple[int, int]]) -> list[float]:
        """When some (epoch, step) were, in seconds since the run began; between rows, in proportion.

        Exact where each epoch has as many steps as the next.
        """
        asked = [self._asked(epoch, step) for epoch, step in moments]
        known = [row.asked for row in self.rows], [row.seconds for row in self.rows]
        return [float(seconds) for seconds in np.interp(asked, *known)] if asked else []

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        when = self.seconds((d.epoch, d.step) for d in self.decisions)
        return {
            "policy": self.policy,
            "data": self.data,
            "bytes_a_sample": list(self.bytes_a_sample),
            "rows": [row._asdict() for row in self.rows],
            "decisions": [
                {"seconds": seconds, **decision.to_dict()}
                for seconds, decision in zip(when, self.decisions, strict=True)
            ],
        }

    def html(self) -> str:
        """One page that needs nothing else: no script, no font, no picture from elsewhere."""
        return write_page(self)

    def _asked(self, epoch: int, step: int) -> float:
        rows = self.rows
        places = [(row.epoch, row.step) for row in rows]
        after = min(bisect_left(places, (epoch, step)), len(rows) - 1)
        later, earlier = rows[after], rows[max(after - 1, 0)]
        if (later.epoch, later.step) == (epoch, step) or later is earlier:
            return later.asked
        epochs = later.epoch - earlier.epoch
        steps_an_epoch = (later.asked - earlier.asked + earlier.step - later.step) / epochs if epochs else 0
        return earlier.asked + (epoch - earlier.epoch) * steps_an_epoch + step - earlier.step


def report(run: Run) -> Report:
    """What a policy did to a run, up to now.

        Path("run.html").write_text(halfbyte.tuning.report(loader).html())

    Args:
        run: a `Loader` or `Steering` with a policy, or a trainer's callback; during training or after.

    Raises:
        ValueError: it has no policy, or one that keeps no log.
    """
    policy = run.policy
    if not isinstance(policy, Policy):
        raise ValueError(
            f"report of {run!r}: its policy is {policy!r}, expected one of halfbyte.tuning; give the loader "
            "a policy, such as fidelity=halfbyte.tuning.Fixed(5)"
        )
    dataset = policy.dataset
    sizes = [dataset.bytes_at(k) / max(len(dataset), 1) for k in range(1, dataset.num_levels + 1)]
    return Report(
        repr(policy), repr(dataset), tuple(sizes), policy.history.up_to(run.moment), tuple(policy.log)
    )
