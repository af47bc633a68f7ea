"""Policies that know beforehand: one fidelity, a mixture, a schedule."""

from __future__ import annotations

from collections.abc import Mapping

from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import Fidelity, Moment, fidelity_mix
from halfbyte.tuning.policy import Policy

__all__ = ["Fixed", "Mixture", "Schedule"]


class Schedule(Policy):
    """Another fidelity from an epoch on: ``Schedule({0: 3, 10: 6, 20: None})`` goes from low to high.

    Args:
        fidelities: epoch to what holds from its start: k, a mixture {k: weight}, or None for full. Epoch 0
            must be there.

    Raises:
        ValueError: epoch 0 is missing, or an epoch is no integer of 0 or more.
    """

    def __init__(self, fidelities: Mapping[int, Fidelity]) -> None:
        super().__init__()
        for epoch in fidelities:
            if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
                raise ValueError(f"epoch {epoch!r} of a schedule, expected an integer of 0 or more")
        if 0 not in fidelities:
            raise ValueError(f"schedule with epochs {sorted(fidelities)}: add what holds from epoch 0 on")
        self.fidelities = dict(sorted(fidelities.items()))

    def begin(self, dataset: Dataset) -> None:
        super().begin(dataset)
        for fidelity in self.fidelities.values():
            fidelity_mix(fidelity, dataset.num_levels)

    def decide(self, moment: Moment) -> Fidelity:
        since = max(epoch for epoch in self.fidelities if epoch <= moment.epoch)
        if self.step or (self.log and self.log[-1].epoch >= since):
            return self._now
        return self.conclude(self.fidelities[since], self._why(since))

    def _why(self, since: int) -> str:
        return f"the schedule says so from epoch {since} on"

    def __repr__(self) -> str:
        return f"Schedule({self.fidelities})"


class Fixed(Schedule):
    """One fidelity for good: k, or None for full."""

    def __init__(self, fidelity: int | None = None) -> None:
        super().__init__({0: fidelity})

    def _why(self, since: int) -> str:
        return "it is fixed"

    def __repr__(self) -> str:
        return f"Fixed({self.fidelities[0]})"


class Mixture(Schedule):
    """Each record at a fidelity drawn anew in every epoch: ``Mixture({2: 0.8, 10: 0.2})``.

    Args:
        weights: fidelity to weight; they need not add up to 1.
    """

    def __init__(self, weights: Mapping[int, float]) -> None:
        super().__init__({0: dict(weights)})

    def _why(self, since: int) -> str:
        return "the mixture is fixed"

    def __repr__(self) -> str:
        return f"Mixture({self.fidelities[0]})"
