"""The cheapest fidelity on which a short burst of training does as well as on the originals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from statistics import fmean

import torch
from torch import nn

from halfbyte.tuning.probe import Loss, Probe, Verdict, whole
from halfbyte.tuning.probe_samples import ProbeSamples
from halfbyte.tuning.unchanged import parameters_of, unchanged

__all__ = ["LossProbe"]

_HELD_BATCHES = 4


class LossProbe(Probe):
    """The cheapest fidelity on which a burst of training ends with a loss near that of a burst in full.

    Every so many steps, the model is trained for `burst` steps in full, and its loss is taken; then
    everything is rolled back to the bit (model, optimizer, random states), and the same is done at the
    candidates, from the cheapest until one is near enough: the same samples, crops, flips and dropout.

    The loss is that of samples held out of the burst, **at full fidelity** for every candidate. The losses of
    the burst itself would be of different images for each candidate, so a fidelity that makes the task easy
    would win; what counts is what the model has learnt about the originals.

    Staying at the present fidelity, or going up no further than needed, takes a loss of at most
    ``1 + tolerance`` times that of full; going lower takes ``1 + tolerance / 2``. So a loss that wavers about
    the tolerance changes nothing. Once the loss is next to 0, small differences are large beside it, and full
    is read.

    On several ranks each trains its bursts alone, on its own samples, and the mean of the losses counts.

    Args:
        model: what is trained; may be wrapped in DistributedDataParallel (not in FSDP).
        optimizer: of the model; its ``step`` must need no closure. Bursts take its present learning rates,
            without any gradient scaler: losses must be such that plain steps work.
        loss: ``loss(model, batch)`` gives a scalar tensor. It must use the model that it is given, and put
            the batch where that is. Activation checkpoints in it must be of ``use_reentrant=False``.
        every: steps between probes; a step is a batch of the loader.
        burst: steps of training at each fidelity: enough for some to do visibly worse than full. Where no
            loss moves within a burst, all look alike, and the cheapest is taken.
        tolerance: by how much the loss may exceed that of full, relative to it, above 0.
        batch_size: samples in a step of the burst, on each rank.
        candidates: fidelities to try besides full; None for those that save a twentieth of
            the bytes of full, or more, against the next.
        share: of the wall time inside iterations that probes may take; a probe that would take more is put
            off, and the log says so. `math.inf` for any.
        seed: of the samples drawn.

    Raises:
        ValueError: an option is out of range.
        FidelityError: (from the loader) a candidate that the data set lacks.

    Warns:
        UserWarning: a probe failed, or a loss is not finite; all is read in full until the next.

    Source: PCR (VLDB 2021), dynamic tuning by checkpoint and trial; what the paper leaves open is said above.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: Loss,
        *,
        every: int = 5000,
        burst: int = 32,
        tolerance: float = 0.02,
        batch_size: int = 32,
        candidates: Sequence[int] | None = None,
        share: float = 0.02,
        seed: int = 0,
    ) -> None:
        super().__init__(
            model,
            loss,
            every=every,
            batch_size=batch_size,
            batches=whole("burst", burst) + _HELD_BATCHES,
            candidates=candidates,
            share=share,
            seed=seed,
        )
        if not 0 < tolerance < math.inf:
            raise ValueError(f"tolerance of {tolerance!r}, expected a number above 0, such as 0.02")
        self.optimizer, self.burst, self.tolerance = optimizer, burst, tolerance

    def judge(self, samples: ProbeSamples) -> Verdict:
        full = self.dataset.num_levels
        present = self.fidelity
        best = self.measure(partial(self._try, samples, full))
        figures = {f"loss_{full}": best}
        for k in self.ladder:
            value = self.measure(partial(self._try, samples, k))
            figures[f"loss_{k}"] = value
            lower = isinstance(present, int) and k < present
            allowed = self.tolerance / 2 if lower else self.tolerance
            if value - best <= allowed * abs(best):
                why = (
                    f"{self.burst} steps at it end with a loss of {value:.4g}, which is within "
                    f"{allowed:.1%} of the {best:.4g} of full"
                )
                return Verdict(k, why, figures)
        nearest = min(self.ladder, key=lambda k: figures[f"loss_{k}"])
        why = (
            f"{self.burst} steps at it end with a loss of {best:.4g}, and no lower one comes near enough: "
            f"fidelity {nearest} ends with {figures[f'loss_{nearest}']:.4g}"
        )
        return Verdict(full, why, figures)

    def _try(self, samples: ProbeSamples, fidelity: int) -> float:
        """The loss of the held samples in full, after a burst at a fidelity that leaves no trace."""
        trained, held = samples.split(self.burst)
        with unchanged(self.model, self.optimizer), torch.enable_grad():
            parameters = [p for p in parameters_of(self.model, self.optimizer) if p.requires_grad]
            for batch in trained.at(fidelity):
                # Not backward(): that would run hooks of DistributedDataParallel, which wait for other ranks.
                parts = torch.autograd.grad(self.loss(self.model, batch), parameters, allow_unused=True)
                for parameter, part in zip(parameters, parts, strict=True):
                    parameter.grad = part
                self.optimizer.step()
            with torch.no_grad():
                value = fmean(
                    self.loss(self.model, batch).item() for batch in held.at(self.dataset.num_levels)
                )
        if not math.isfinite(value):
            raise ArithmeticError(f"the loss after {self.burst} steps at fidelity {fidelity} is {value}")
        return value

    def __repr__(self) -> str:
        return f"LossProbe(tolerance={self.tolerance}, every={self.every}, burst={self.burst})"
