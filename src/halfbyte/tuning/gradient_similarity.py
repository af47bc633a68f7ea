"""The cheapest fidelity at which the gradient points where that of the originals does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import nn

from halfbyte.ranks import together
from halfbyte.tuning.probe import Loss, Probe, Verdict
from halfbyte.tuning.probe_samples import ProbeSamples
from halfbyte.tuning.unchanged import parameters_of, unchanged

__all__ = ["GradientSimilarity"]

Gradient = list[torch.Tensor | None]


class GradientSimilarity(Probe):
    """The cheapest fidelity whose gradient has a cosine of `threshold` or more with that of full.

    Every so many steps, new samples are drawn, and the gradient of their loss by all parameters is taken at
    full fidelity and at the candidates, from the cheapest until one is near enough: the same crops and flips,
    the same dropout, the model in the mode it is in. Nothing is changed by it, BatchNorm's statistics
    included. On several ranks each takes its own samples, and the mean of the cosines counts.

    A cosine of c means that the gradient is off by √(2 - 2c) of its length: a tenth at the threshold of
    0.995. Such errors have the same direction step after step, unlike the noise of batches, so they add up:
    at about 0.9, as in the paper, fine classes of photographs lost 8 points in our runs (docs/benchmarks.md).

    Going below the present fidelity takes a cosine above the threshold, by `hysteresis` of what that lacks
    of 1; staying, or going up no further than needed, takes ``threshold``. So a cosine that wavers about the
    threshold changes nothing.

    Args:
        model: what is trained; may be wrapped in DistributedDataParallel (not in FSDP).
        loss: ``loss(model, batch)`` gives a scalar tensor. It must use the model that it is given, and put
            the batch where that is. If fp16 needs a scaled loss, scale it: cosines do not change. Activation
            checkpoints in it must be of ``use_reentrant=False``.
        threshold: of the cosine, in (0, 1).
        every: steps between probes; a step is a batch of the loader.
        batch_size, batches: samples in a batch, and batches at each fidelity, on each rank.
        candidates: fidelities to try besides full; None for those that save a twentieth of
            the bytes of full, or more, against the next.
        share: of the wall time inside iterations that probes may take; a probe that would take more is put
            off, and the log says so. `math.inf` for any.
        hysteresis: what going lower takes beyond the threshold, as a share of ``1 - threshold``, below 1.
        seed: of the samples drawn.

    Raises:
        ValueError: an option is out of range.
        FidelityError: (from the loader) a candidate that the data set lacks.

    Warns:
        UserWarning: a probe failed, or a gradient is zero or not finite; all is read in full until the next.

    Source: PCR (VLDB 2021), dynamic tuning by gradient similarity.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        *,
        threshold: float = 0.995,
        every: int = 1000,
        batch_size: int = 32,
        batches: int = 4,
        candidates: Sequence[int] | None = None,
        share: float = 0.02,
        hysteresis: float = 0.2,
        seed: int = 0,
    ) -> None:
        super().__init__(
            model,
            loss,
            every=every,
            batch_size=batch_size,
            batches=batches,
            candidates=candidates,
            share=share,
            seed=seed,
        )
        if not 0 < threshold < 1:
            raise ValueError(f"threshold of {threshold!r}, expected a cosine in (0, 1), such as 0.995")
        if not 0 <= hysteresis < 1:
            raise ValueError(f"hysteresis of {hysteresis!r}, expected a number in [0, 1)")
        self.threshold, self.hysteresis = threshold, hysteresis

    def judge(self, samples: ProbeSamples) -> Verdict:
        full = self.dataset.num_levels
        present = self.fidelity
        reference = together(partial(self._gradient, samples, full))
        figures: dict[str, float] = {}
        for k in self.ladder:
            value = self.measure(partial(self._similarity, reference, samples, k))
            figures[f"cosine_{k}"] = value
            lower = isinstance(present, int) and k < present
            needed = 1 - (1 - self.threshold) * (1 - self.hysteresis if lower else 1)
            if value >= needed:
                why = f"its gradient has a cosine of {value:.4f} with that of full, and {needed:g} is needed"
                return Verdict(k, why, figures)
        nearest = max(self.ladder, key=lambda k: figures[f"cosine_{k}"])
        why = (
            f"no lower one has a gradient near enough to its own: the nearest, at fidelity {nearest}, has a "
            f"cosine of {figures[f'cosine_{nearest}']:.4f}"
        )
        return Verdict(full, why, figures)

    def _similarity(self, reference: Gradient, samples: ProbeSamples, fidelity: int) -> float:
        return cosine(reference, self._gradient(samples, fidelity))

    def _gradient(self, samples: ProbeSamples, fidelity: int) -> Gradient:
        """The gradient of the summed losses; all fidelities start from the same random states."""
        total: Gradient = []
        with unchanged(self.model), torch.enable_grad():
            parameters = [p for p in parameters_of(self.model) if p.requires_grad]
            for batch in samples.at(fidelity):
                # Not backward(): that would run hooks of optimizers and of DistributedDataParallel.
                parts = torch.autograd.grad(self.loss(self.model, batch), parameters, allow_unused=True)
                total = [_add(a, b) for a, b in zip(total or [None] * len(parts), parts, strict=True)]
        square = dot(total, total)
        if not (math.isfinite(square) and square > 0):
            what = "zero" if square == 0 else "not finite"
            raise ArithmeticError(f"the gradient at fidelity {fidelity} is {what}")
        return total

    def __repr__(self) -> str:
        return f"GradientSimilarity(threshold={self.threshold}, every={self.every})"


def dot(a: Gradient, b: Gradient) -> float:
    """Scalar product; None stands for zeros."""
    both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return math.fsum(torch.dot(x.flatten(), y.flatten()).item() for x, y in both)


def cosine(a: Gradient, b: Gradient) -> float:
    """Cosine of the angle between two gradients that are neither zero nor infinite."""
    return dot(a, b) / (math.sqrt(dot(a, a)) * math.sqrt(dot(b, b)))


def _add(total: torch.Tensor | None, part: torch.Tensor | None) -> torch.Tensor | None:
    """In float32 at least, whatever the parameters are in."""
    if part is None:
        return total
    part = part.detach().to(torch.promote_types(part.dtype, torch.float32))
    return part if total is None else total + part
