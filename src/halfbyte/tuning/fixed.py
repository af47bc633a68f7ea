"""Policies that know beforehand: one fidelity, a mixture, a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfbyte.errors import StateError
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import Fidelity, FidelityPolicy, Moment, describe_fidelity, fidelity_mix
from halfbyte.tuning.policy import Policy

__all__ = ["Fixed", "Mixture", "Schedule"]


class Schedule(Policy):
    """Another fidelity from an epoch on: ``Schedule({0: 3, 10: 6, 20: None})`` goes from low to high.

    What holds may be left to another policy: ``Schedule({0: StaticQuality(), 80: None})`` ends in full. The
    last epochs matter most: the network gets used to the images that it is tested on.

    Args:
        fidelities: epoch to what holds from its start: k, a mixture {k: weight}, None for full, or a policy.
            Epoch 0 must be there.

    Raises:
        ValueError: epoch 0 is missing, or an epoch is no integer of 0 or more.
    """

    def __init__(self, fidelities: Mapping[int, Fidelity | FidelityPolicy]) -> None:
        super().__init__()
        for epoch in fidelities:
            if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
                raise ValueError(f"epoch {epoch!r} of a schedule, expected an integer of 0 or more")
        if 0 not in fidelities:
            raise ValueError(f"schedule with epochs {sorted(fidelities)}: add what holds from epoch 0 on")
        self.fidelities = dict(sorted(fidelities.items()))
        self._inner = {
            epoch: inner for epoch, inner in self.fidelities.items() if isinstance(inner, FidelityPolicy)
        }

    def begin(self, dataset: Dataset) -> None:
        super().begin(dataset)
        for fidelity in self.fidelities.values():
            if isinstance(fidelity, FidelityPolicy):
                fidelity.begin(dataset)
            else:
                fidelity_mix(fidelity, dataset.num_levels)

    def decide(self, moment: Moment) -> Fidelity:
        since = max(epoch for epoch in self.fidelities if epoch <= moment.epoch)
        begins = not (self.log and self.log[-1].epoch >= since)
        answer = self.fidelities[since]
        if isinstance(answer, FidelityPolicy):
            answer = answer.choose(moment)
            if not begins and describe_fidelity(fidelity_mix(answer, self.dataset.num_levels)) == self._now:
                return self._now
        elif not begins:
            return self._now
        return self.conclude(answer, self._why(since))

    def _why(self, since: int) -> str:
        inner = self._inner.get(since)
        if isinstance(inner, Policy):
            return inner.log[-1].why
        return f"the schedule says so from epoch {since} on"

    def state_dict(self) -> dict[str, Any]:
        inner = {str(epoch): policy.state_dict() for epoch, policy in self._inner.items()}
        return {**super().state_dict(), "inner": inner}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        inner = {int(epoch): own for epoch, own in state["inner"].items()}
        if inner.keys() != self._inner.keys():
            raise StateError(
                f"state: it is of a schedule with policies from epochs {sorted(inner)} on, expected "
                f"{sorted(self._inner)}; make the schedule of the run that saved it"
            )
        for epoch, policy in self._inner.items():
            policy.load_state_dict(inner[epoch])

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
