"""What all policies of fidelity have in common: a data set, a count of steps, a log, a state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from halfbyte.errors import StateError
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import Fidelity, Moment, describe_fidelity, fidelity_mix
from halfbyte.tuning.decision import Decision
from halfbyte.tuning.history import History

__all__ = ["Policy"]


class Policy(ABC):
    """Answers which fidelity to read at; give it to a loader: ``Loader(…, fidelity=policy)``.

    A subclass answers in `decide`, for each step of training, and says why by `conclude` whenever it has
    looked at something.

    Attributes:
        log: what was decided, oldest first.
        history: what the run has cost, moment by moment.
        step: batches of the present epoch that were delivered when the policy was last asked.
    """

    def __init__(self) -> None:
        self.log: list[Decision] = []
        self.history = History()
        self.step = 0
        self._epoch = -1
        self._dataset: Dataset | None = None
        self._now: int | dict[int, float] | None = None

    @property
    def dataset(self) -> Dataset:
        """What is read.

        Raises:
            RuntimeError: no loader has this policy yet.
        """
        if self._dataset is None:
            raise RuntimeError(f"{self} has no data set yet; give it to a loader: Loader(…, fidelity=policy)")
        return self._dataset

    @property
    def fidelity(self) -> int | dict[int, float] | None:
        """What was last decided: k or {k: weight}; None before the first decision."""
        return self._now

    def begin(self, dataset: Dataset) -> None:
        """Learn which data set this is about.

        Raises:
            ValueError: the policy is another data set's already.
        """
        if self._dataset is not None and self._dataset is not dataset:
            raise ValueError(f"{self} is the policy of {self._dataset} already; make one for each data set")
        self._dataset = dataset

    def choose(self, moment: Moment) -> Fidelity:
        """The fidelity from the next record read on."""
        if moment.epoch != self._epoch:
            self._epoch, self.step = moment.epoch, 0
        else:
            self.step += 1
        fidelity = self.decide(moment)
        mean = fidelity_mix(fidelity, self.dataset.num_levels).mean
        self.history.note(moment, step=self.step, fidelity=mean)
        return fidelity

    @abstractmethod
    def decide(self, moment: Moment) -> Fidelity:
        """The fidelity from the next record read on; `step` has been counted."""

    def conclude(self, fidelity: Fidelity, why: str, **figures: float) -> Fidelity:
        """Log a decision, and return it.

        Args:
            fidelity: what holds from here on.
            why: a clause that goes on after "since".
            figures: what it was decided from.
        """
        self._now = describe_fidelity(fidelity_mix(fidelity, self.dataset.num_levels))
        self.log.append(Decision(self._epoch, self.step, self._now, why, figures))
        return self._now

    def state_dict(self) -> dict[str, Any]:
        """What the next choices depend on, and the log, as JSON values."""
        return {
            "policy": type(self).__name__,
            "epoch": self._epoch,
            "step": self.step,
            "fidelity": {str(k): weight for k, weight in self._now.items()}
            if isinstance(self._now, dict)
            else self._now,
            "log": [decision.to_dict() for decision in self.log],
            "history": self.history.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state.

        Raises:
            StateError: it is another policy's.
        """
        if state.get("policy") != type(self).__name__:
            raise StateError(
                f"state: it is of a policy {state.get('policy')!r}, expected {type(self).__name__!r}; "
                f"load it into the policy that saved it"
            )
        now = state["fidelity"]
        self._epoch, self.step = state["epoch"], state["step"]
        self._now = {int(k): weight for k, weight in now.items()} if isinstance(now, Mapping) else now
        self.log = [Decision.from_dict(values) for values in state["log"]]
        self.history.load_state_dict(state["history"])
