"""Which fidelity a record is read at: one number, a draw from a mixture keyed by (seed, epoch, record), or
what a policy says from batch to batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from halfbyte.errors import FidelityError
from halfbyte.keyed.hashes import Stream, derive_keys, keyed_uniforms

if TYPE_CHECKING:
    from halfbyte.loader.dataset import Dataset

__all__ = ["Fidelity", "FidelityMix", "FidelityPolicy", "Moment", "describe_fidelity", "fidelity_mix"]

Fidelity = int | Mapping[int, float] | None
"""A fidelity k, a mixture {k: weight}, or None for the highest."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a policy is asked, and what reading has cost so far.

    Attributes:
        epoch: the present one.
        seconds: wall seconds inside iterations since the loader was made.
        cost: the loader's counters (`Counters.to_dict`), sums since it was made or reset, over all its
            workers.
    """

    epoch: int
    seconds: float
    cost: Mapping[str, int | float]


@runtime_checkable
class FidelityPolicy(Protocol):
    """Says which fidelity to read at. It is asked before the first batch of an epoch and after every batch
    but the last, before the next one is taken: as often in a run that is interrupted as in one that is not.

    All ranks ask in the same steps, so a policy may talk to its peers there; it must answer the same on each.
    """

    def begin(self, dataset: Dataset) -> None:
        """Learn which data set this is about; called once, before anything else."""

    def choose(self, moment: Moment) -> Fidelity:
        """The fidelity from the next record read on."""

    def state_dict(self) -> dict[str, Any]:
        """What the next choices depend on, as JSON values."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""


@dataclass(frozen=True, slots=True)
class FidelityMix:
    """Weights over fidelities 1 … L that add up to 1; a single fidelity has weight 1."""

    weights: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The fidelity that records are read at on the average."""
        return math.fsum(level * weight for level, weight in enumerate(self.weights, start=1))

    def choose(self, *, seed: int, epoch: int, record: int) -> int:
        """The fidelity of one record in one epoch: always the same for the same numbers."""
        if 1.0 in self.weights:
            return self.weights.index(1.0) + 1
        draw = keyed_uniforms(derive_keys(seed, epoch, Stream.FIDELITY, record), 1)[0, 0]
        bounds = np.cumsum(self.weights)
        chosen = int(np.searchsorted(bounds, draw * bounds[-1], side="right"))
        return min(chosen, len(self.weights) - 1) + 1


def fidelity_mix(fidelity: Fidelity, num_levels: int) -> FidelityMix:
    """Check a fidelity or mixture against the levels of a data set.

    Raises:
        FidelityError: no such fidelity, or weights that are no weights.
    """
    if fidelity is None:
        fidelity = num_levels
    mixture = fidelity if isinstance(fidelity, Mapping) else {fidelity: 1.0}
    weights = [0.0] * num_levels
    for level, weight in mixture.items():
        if isinstance(level, bool) or not isinstance(level, int | np.integer) or not 1 <= level <= num_levels:
            raise FidelityError(
                f"fidelity {level!r} of a data set with levels 1 to {num_levels}; "
                f"give a whole number in that range ({num_levels} is the original)"
            )
        if not (math.isfinite(weight) and weight >= 0):
            raise FidelityError(f"fidelity {level} has weight {weight!r}; give weights of 0 or more")
        weights[level - 1] = float(weight)
    total = math.fsum(weights)
    if total <= 0:
        raise FidelityError(f"fidelity {fidelity!r}: no weight is above 0; give at least one")
    return FidelityMix(tuple(weight / total for weight in weights))


def describe_fidelity(mix: FidelityMix) -> int | dict[int, float]:
    """As the user wrote it: a number, or the mixture with its weights adding up to 1."""
    used = {level: weight for level, weight in enumerate(mix.weights, start=1) if weight > 0}
    return next(iter(used)) if len(used) == 1 else used
