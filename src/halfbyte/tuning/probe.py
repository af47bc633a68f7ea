"""What policies that try fidelities on the model share: when, on which samples, at what cost, and failure."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from halfbyte.keyed.hashes import check_seed
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import Fidelity, Moment
from halfbyte.ranks import mean_over_ranks, rank_and_world_size, together
from halfbyte.tuning.allowance import Allowance
from halfbyte.tuning.policy import Policy
from halfbyte.tuning.probe_samples import ProbeSamples, draw_numbers

__all__ = ["Loss", "Probe", "Verdict"]

_WORTH_A_TRIAL = 1 / 20  # of the bytes of full

Loss = Callable[[nn.Module, dict[str, Any]], torch.Tensor]
"""``loss(model, batch)``: a scalar tensor from a model and a batch as the loader yields it."""


@dataclass(frozen=True)
class Verdict:
    """What a probe found: a fidelity, why, and from which figures."""

    fidelity: int
    why: str
    figures: Mapping[str, float] = field(default_factory=dict)


def worth_trying(prices: Sequence[int]) -> list[int]:
    """Fidelities below full that cost enough less than the next one that is tried, from 1.

    Args:
        prices: bytes at fidelity 1, 2, …; the last is full.
    """
    found = []
    above = prices[-1]
    for k in range(len(prices) - 1, 0, -1):
        if above - prices[k - 1] >= _WORTH_A_TRIAL * prices[-1]:
            found.append(k)
            above = prices[k - 1]
    return found[::-1]


class Probe(Policy):
    """Tries lower fidelities on the model every so many steps; a subclass says in `judge` which one serves.

    Until the first probe, and from a probe that fails to the next one, everything is read in full.

    Args:
        model: what is trained. In a DistributedDataParallel the module inside is probed, so that nothing
            waits for other ranks.
        loss: called with that model and a batch; must put the batch where the model is.
        every: steps between probes; a step is a batch of the loader.
        batch_size: samples in a batch of a probe, on each rank.
        batches: of a probe at each fidelity, on each rank.
        candidates: fidelities to try besides full; None for all that save something worth a trial: each costs
            less than the one above it by a twentieth of full or more.
        share: of the wall time inside iterations that probes may take; a probe that would take more is put
            off. `math.inf` for any.
        seed: of the samples drawn.

    Raises:
        ValueError: an option is out of range.
        FidelityError: (from the loader) a candidate that the data set lacks.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        *,
        every: int,
        batch_size: int,
        batches: int,
        candidates: Sequence[int] | None,
        share: float,
        seed: int,
    ) -> None:
        super().__init__()
        self.model = model.module if isinstance(model, DistributedDataParallel) else model
        self.loss = loss
        self.every = whole("every", every)
        self.batch_size = whole("batch_size", batch_size)
        self.batches = whole("batches", batches)
        self.candidates = candidates
        self.seed = check_seed(seed)
        self.allowance = Allowance(share)
        self.ladder: list[int] = []
        self._asked = 0
        self._probes = 0
        self._next = self.every
        self._put_off = False

    def begin(self, dataset: Dataset) -> None:
        super().begin(dataset)
        full = dataset.num_levels
        if self.candidates is None:
            self.ladder = worth_trying([dataset.bytes_at(k) for k in range(1, full + 1)])
        else:
            asked = {dataset.records.check_fidelity(k) for k in self.candidates}
            self.ladder = sorted(asked - {full})

    @abstractmethod
    def judge(self, samples: ProbeSamples) -> Verdict:
        """Compare the candidates of `ladder`, cheapest first, with full; any exception means full.

        All ranks must come to the same verdict: numbers that it rests on go through `measure`.
        """

    def measure(self, work: Callable[[], float]) -> float:
        """A number as the mean over all ranks; what fails on one fails on all."""
        return mean_over_ranks([together(work)])[0]

    def decide(self, moment: Moment) -> Fidelity:
        self.allowance.see(moment)
        taken = self._asked
        self._asked += 1
        if not self.log:
            self.conclude(None, self._first_reason())
        if self.ladder and taken >= self._next and self._affordable(taken):
            self._next = taken + self.every
            self._probe(moment.epoch)
        return self._now

    def _first_reason(self) -> str:
        if not self.ladder:
            return "there is no other fidelity to try"
        return f"the first probe comes after {self.every} steps"

    def _affordable(self, taken: int) -> bool:
        """Whether a probe may be made now; if not, when to ask again."""
        most = self.batch_size * self.batches * (1 + len(self.ladder))
        missing, seconds = mean_over_ranks([self.allowance.missing(most), self.allowance.seconds])
        if missing <= 0:
            self._put_off = False
            return True
        self._next = taken + max(1, math.ceil(missing * taken / seconds)) if seconds > 0 else taken + 1
        if not self._put_off:
            self._put_off = True
            self.conclude(
                self.fidelity,
                f"a probe now would take probing above {self.allowance.share:.1%} of the time; it is put off "
                f"by {self._next - taken} steps",
            )
        return False

    def _probe(self, epoch: int) -> None:
        started = perf_counter()
        number = self._probes
        self._probes += 1
        failure = None
        try:
            verdict = self.judge(together(lambda: self._draw(epoch, number)))
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
            verdict = Verdict(self.dataset.num_levels, f"probe {number} failed with {failure}")
        seconds = perf_counter() - started
        self.allowance.charge(seconds)
        self.conclude(verdict.fidelity, verdict.why, **verdict.figures, seconds=seconds)
        if failure is not None:
            warnings.warn(
                f"{type(self).__name__}: probe {number} failed with {failure}. All is read in full until the "
                f"next probe, {self.every} steps on; call loss(model, batch) on a batch of the loader to see "
                "what is wrong",
                stacklevel=6,  # the loop over the loader
            )

    def _draw(self, epoch: int, probe: int) -> ProbeSamples:
        rank, world_size = rank_and_world_size()
        numbers = draw_numbers(
            self.batch_size * self.batches,
            len(self.dataset),
            seed=self.seed,
            epoch=epoch,
            probe=probe,
            rank=rank,
            world_size=world_size,
        )
        return ProbeSamples.read(self.dataset, numbers, batch_size=self.batch_size, epoch=epoch)

    def state_dict(self) -> dict[str, Any]:
        return {
            **super().state_dict(),
            "asked": self._asked,
            "probes": self._probes,
            "next": self._next,
            "put_off": self._put_off,
            "allowance": self.allowance.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self._asked, self._probes = state["asked"], state["probes"]
        self._next, self._put_off = state["next"], state["put_off"]
        self.allowance.load_state_dict(state["allowance"])


def whole(name: str, value: int) -> int:
    """An option that counts something; ValueError unless it is an integer of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name}={value!r}, expected an integer of 1 or more")
    return value
