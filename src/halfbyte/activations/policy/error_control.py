"""Error bounds that follow the training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from halfbyte.activations.codecs.error_bounded import Coder, ErrorBounded
from halfbyte.activations.policy.gradient_scale import GradientScale, Weight, weights_of
from halfbyte.activations.policy.noise_watch import Measuring, Seen, TensorKey, Verifying, key_of
from halfbyte.activations.policy.saved_tensor import Plan, Policy, PolicyFunction, SavedTensor, Saver
from halfbyte.ranks import mean_over_ranks, rank_and_world_size

__all__ = ["Bound", "ErrorControl"]

_COARSEST = 1.0  # of the root mean square of what is not 0: beyond, an error is no longer uniform
_STEPS = 4  # of the optimizer, in a measurement: batches differ
_TOLERANCE = 2.0  # times what is allowed, before a bound is lowered
_ROOT_3 = math.sqrt(3.0)  # the largest value of a uniform error over its standard deviation


@dataclass(frozen=True)
class Bound:
    """What is allowed to a tensor, and what came of it.

    Attributes:
        path, savers, ordinal: which tensor.
        value: the bound of its error, absolute.
        weight: number of the weight whose gradient allows least, in the optimizer.
        scale: size of that gradient, which noise is compared with.
        predicted: standard deviation of the noise in it, by the law. Less than what is allowed where values
            themselves are small, or where measurements showed more.
        measured: the same of the noise that the error really made, in one step after; None until then.
        nonzeros: share of its elements that were not 0.
        times: how often it was saved between two steps of the optimizer.
        ratio: of its bytes, when it was measured; that is under the bound before.
    """

    path: str
    savers: tuple[Saver, ...]
    ordinal: int
    value: float
    weight: int
    scale: float
    predicted: float
    nonzeros: float
    times: int
    ratio: float
    measured: float | None = None

    @property
    def key(self) -> TensorKey:
        """Of the tensor."""
        return self.path, self.savers, self.ordinal


class ErrorControl(Policy):
    """Gives every tensor that is multiplied by a weight the bound whose error makes no more noise than
    allowed in the weight's gradient: the engine of `comet` and `ac_gc`, which see.

    All counts are steps of the optimizer. A measurement takes four, and sees all that is saved in them, so
    that accumulated gradients count together. Ranks of a process group measure in the same steps, and all
    take the mean of what they saw. In the steps after a measurement the noise that errors really make is
    measured, for one tensor each; where it is more than twice what is allowed, the bound is lowered at once.
    That happens where errors are not independent of gradients: with coarse bounds, where no normalization
    follows.

    Args:
        optimizer: whose weights count; None to say it later, by `follow`, as callbacks of trainers do.
        target: noise allowed, as a share of `scale`, above 0.
        scale: knows the size of gradients.
        every: steps from one measurement to the next.
        warmup: steps until the first one; the next come after as many, twice as many, and so on. From 1 to
            `every`.
        others: policy for all other tensors, and for these until they have a bound.
        coder: of `ErrorBounded`.
        scaler: of the loss, if any: its scale is divided out.

    Raises:
        ValueError: an option is not as described, or `others` measures too.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer | None,
        *,
        target: float,
        scale: GradientScale,
        every: int,
        warmup: int,
        others: PolicyFunction,
        coder: Coder,
        scaler: torch.amp.GradScaler | None,
    ) -> None:
        if not 0 < target < math.inf:
            raise ValueError(f"noise of {target!r} allowed, expected a number above 0, such as 0.01")
        if not 1 <= warmup <= every:
            raise ValueError(f"warmup={warmup} with every={every}, expected 1 ≤ warmup ≤ every")
        if isinstance(others, Policy) and type(others).watch is not Policy.watch:
            raise ValueError(f"others={others} measures too; give a policy that does not, such as sfpr()")
        ErrorBounded(1.0, coder=coder)  # checks it
        self.target, self.every, self.warmup = target, every, warmup
        self.others, self.coder, self.scaler = others, coder, scaler
        self._scale = scale
        self._hook: RemovableHandle | None = None
        self._weights: list[Weight] = []
        self._numbers: dict[int, int] = {}
        self._refreshed = 0
        self._count, self._due, self._gap = 0, warmup, warmup
        self._bounds: dict[TensorKey, Bound] = {}
        self._unverified: list[TensorKey] = []
        # In this step of the optimizer, and in all of the measurement.
        self._seen: dict[TensorKey, Seen] = {}
        self._pulls: dict[int, float] = {}
        self._noises: list[float] = []
        self._sums: dict[int, float] = {}
        self._steps = 0
        if optimizer is not None:
            self.follow(optimizer)

    def follow(self, optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler | None = None) -> None:
        """Say whose weights count from now on, and what scales the loss. Needed before the first step, unless
        the optimizer was given at the start.
        """
        if self._hook is not None:
            self._hook.remove()
        self.scaler = scaler or getattr(optimizer, "scaler", None) or self.scaler
        inner = getattr(optimizer, "optimizer", optimizer)  # of wrappers, as Accelerate's
        self._weights = weights_of(inner)
        self._numbers = {id(weight.parameter): weight.number for weight in self._weights}
        # After a step, not before: some trainers compute the gradients within it.
        self._hook = inner.register_step_post_hook(self._after_step)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bounds in force."""
        return tuple(self._bounds.values())

    @property
    def measuring(self) -> bool:
        """Whether what is saved now is measured."""
        return self._count >= self._due

    @property
    def version(self) -> int:  # type: ignore[override]
        return self._refreshed + (self.others.version if isinstance(self.others, Policy) else 0)

    def begin_step(self, step: int, epoch: int) -> None:
        if self._hook is None:
            raise RuntimeError(f"{self} follows no optimizer; give it one, or call its follow(optimizer)")
        if isinstance(self.others, Policy):
            self.others.begin_step(step, epoch)

    def plan(self, saved: SavedTensor) -> Plan:
        bound = self._bounds.get(key_of(saved))
        if bound is not None:
            return Plan(ErrorBounded(bound.value, coder=self.coder, signs=saved.mask_needed))
        answer = self.others(saved)
        return answer if isinstance(answer, Plan) else Plan(answer)

    def watch(self) -> Measuring | Verifying | None:
        if self.measuring:
            return Measuring(self._numbers, self._seen, self._add)
        if self._unverified:
            return Verifying(self._numbers, self._unverified[0], self._hear)
        return None

    def state_dict(self) -> dict[str, object]:
        others = self.others.state_dict() if isinstance(self.others, Policy) else {}
        return {
            "count": self._count,
            "due": self._due,
            "gap": self._gap,
            "measured": {"steps": self._steps, "pulls": {str(n): pull for n, pull in self._sums.items()}},
            "bounds": [asdict(bound) for bound in self._bounds.values()],
            "scale": self._scale.state_dict(),
            "others": others,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._count, self._due, self._gap = state["count"], state["due"], state["gap"]
        self._steps = state["measured"]["steps"]
        self._sums = {int(number): pull for number, pull in state["measured"]["pulls"].items()}
        bounds = [
            Bound(**{**own, "savers": tuple(Saver(*saver) for saver in own["savers"])})
            for own in state["bounds"]
        ]
        self._bounds = {bound.key: bound for bound in bounds}
        self._unverified = [bound.key for bound in bounds if bound.measured is None]
        self._scale.load_state_dict(state["scale"])
        if isinstance(self.others, Policy):
            self.others.load_state_dict(state["others"])
        self._seen, self._pulls, self._noises = {}, {}, []
        self._refreshed += 1

    def table(self) -> str:
        """The bounds in force and what came of them, a line a tensor, as plain text."""
        head = ("module", "bound", "noise / gradient: predicted", "measured", "non-zeros", "ratio")
        rows = [head, *(_row(bound) for bound in self._bounds.values())]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
        )

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError(
            f"{self} follows an optimizer of this process and cannot be sent to another; make it there"
        )

    def _add(self, number: int, pull: float) -> None:
        self._pulls[number] = self._pulls.get(number, 0.0) + pull

    def _hear(self, number: int, square: float) -> None:
        if number == self._bounds[self._unverified[0]].weight:
            self._noises.append(square)

    def _verify(self) -> None:
        """Note the noise of a tensor that was measured in this step; lower its bound if that is too much."""
        key = self._unverified.pop(0)
        bound = self._bounds[key]
        mean = sum(self._noises) / len(self._noises) if self._noises else math.nan
        (square,) = mean_over_ranks([mean * bound.times / self._loss_scale() ** 2])
        if not math.isfinite(square):  # it did not come, or the loss overflowed
            return
        measured, allowed = math.sqrt(square / rank_and_world_size()[1]), self.target * bound.scale
        if measured <= _TOLERANCE * allowed:
            self._bounds[key] = replace(bound, measured=measured)
            return
        lower = allowed / measured
        self._bounds[key] = replace(bound, value=lower * bound.value, predicted=lower * bound.predicted)
        self._unverified.append(key)
        self._refreshed += 1

    def _after_step(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self._scale.see(optimizer, self._counting(), measuring=self.measuring)
        self._count += 1
        if self._seen:
            pulls, coarsest = self._agreed()
            # After an overflow of a scaled loss there is nothing to learn: another step is measured.
            if all(map(math.isfinite, pulls.values())):
                self._sums = {number: self._sums.get(number, 0.0) + pull for number, pull in pulls.items()}
                self._steps += 1
            if self._steps == _STEPS:
                self._refresh(optimizer, coarsest)
                self._due = self._count + self._gap
                self._gap = min(2 * self._gap, self.every)
                self._sums, self._steps = {}, 0
        elif self._unverified:
            self._verify()
        self._seen, self._pulls, self._noises = {}, {}, []

    def _counting(self) -> list[Weight]:
        """The weights whose gradients matter."""
        numbers = {number for seen in self._seen.values() for number in seen.weights}
        numbers.update(bound.weight for bound in self._bounds.values())
        return [weight for weight in self._weights if weight.number in numbers]

    def _agreed(self) -> tuple[dict[int, float], list[float]]:
        """What e²/3 must be multiplied by for the variance of each weight's gradient, and the coarsest bound
        of each tensor: the same on all ranks.

        Raises:
            RuntimeError: ranks saved different tensors.
        """
        divisor = self._loss_scale() ** 2
        numbers = sorted(self._pulls)
        pulls = [self._pulls[number] / divisor for number in numbers]
        coarsest = [_COARSEST * seen.rms for seen in self._seen.values()]
        try:
            agreed = mean_over_ranks([*pulls, *coarsest])
        except ValueError:
            raise RuntimeError(
                f"{self}: ranks saved different numbers of tensors in a step; give all ranks the same model"
            ) from None
        # Gradients of ranks are averaged, and so is their noise, which is independent.
        world = rank_and_world_size()[1]
        means = (pull / world for pull in agreed[: len(pulls)])
        return dict(zip(numbers, means, strict=True)), agreed[len(pulls) :]

    def _refresh(self, optimizer: torch.optim.Optimizer, coarsest: Sequence[float]) -> None:
        pulls = {number: total / self._steps for number, total in self._sums.items()}
        for (key, seen), most in zip(self._seen.items(), coarsest, strict=True):
            scales = {n: self._scale.of(optimizer, self._weights[n]) for n in seen.weights}
            limits = {n: self._limit(scale, pulls.get(n, 0.0)) for n, scale in scales.items()}
            weight = min(limits, key=lambda n: limits[n])
            value = min(limits[weight], most)
            if value > 0 and math.isfinite(value):
                self._bounds[key] = Bound(
                    *key,
                    value,
                    weight,
                    scale=scales[weight],
                    predicted=value / _ROOT_3 * math.sqrt(pulls.get(weight, 0.0)),
                    nonzeros=seen.nonzeros,
                    times=seen.times,
                    ratio=seen.before / max(seen.after, 1),
                )
        self._unverified = [key for key in self._seen if key in self._bounds]
        self._refreshed += 1

    def _limit(self, scale: float, pull: float) -> float:
        return self.target * scale * _ROOT_3 / math.sqrt(pull) if pull > 0 else math.inf

    def _loss_scale(self) -> float:
        return 1.0 if self.scaler is None else self.scaler.get_scale()


def _row(bound: Bound) -> tuple[str, ...]:
    def share(noise: float | None) -> str:
        return "" if noise is None or not bound.scale else f"{noise / bound.scale:.4f}"

    readers = ", ".join(str(saver) for saver in bound.savers)
    return (
        bound.path or readers,
        f"{bound.value:.3g}",
        share(bound.predicted),
        share(bound.measured),
        f"{bound.nonzeros:.0%}",
        f"{bound.ratio:.1f}",
    )
