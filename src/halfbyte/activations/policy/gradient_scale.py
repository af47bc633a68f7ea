"""How large a weight's gradients are: what noise is compared with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, Adamax, AdamW, NAdam, RAdam

__all__ = ["GradientRms", "GradientScale", "Momentum", "Weight", "weights_of"]

_WITH_FIRST_MOMENT = (Adam, AdamW, Adamax, NAdam, RAdam)
_BETA = 0.9  # where the optimizer keeps no momentum: a common one


class Weight(NamedTuple):
    """A parameter of an optimizer: its place among all of them, itself, and the options of its group."""

    number: int
    parameter: nn.Parameter
    group: Mapping[str, Any]


def weights_of(optimizer: torch.optim.Optimizer) -> list[Weight]:
    """The parameters of an optimizer, in the order in which its own `state_dict` numbers them."""
    pairs = [(parameter, group) for group in optimizer.param_groups for parameter in group["params"]]
    return [Weight(number, parameter, group) for number, (parameter, group) in enumerate(pairs)]


class GradientScale(Protocol):
    """Knows the size of the gradients of weights."""

    def see(self, optimizer: torch.optim.Optimizer, weights: Sequence[Weight], *, measuring: bool) -> None:
        """Called after each step of the optimizer, when gradients are those that it used.

        Args:
            optimizer: that made a step.
            weights: those that count.
            measuring: whether `of` will be asked about this step.
        """

    def of(self, optimizer: torch.optim.Optimizer, weight: Weight) -> float:
        """The size of an element of the gradient of this weight; 0 where it is not known."""

    def state_dict(self) -> dict[str, Any]:
        """What is remembered, as JSON values."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` gave."""


class Momentum:
    """The mean of |momentum|, where momentum is Σ βⁱ gᵢ over the gradients g, i steps ago: what
    `torch.optim.SGD` keeps. The first moment of Adam and its kin is a weighted mean, so it is divided by
    1 - β. For optimizers without either, the sum is kept here, with β = 0.9, at the cost of a copy of the
    weights that count; after a resume it starts anew.
    """

    def __init__(self) -> None:
        self._sums: dict[int, Tensor] = {}

    def see(self, optimizer: torch.optim.Optimizer, weights: Sequence[Weight], *, measuring: bool) -> None:
        for weight in weights:
            gradient = weight.parameter.grad
            if gradient is None or _keeps_momentum(optimizer, weight):
                continue
            kept = self._sums.setdefault(
                weight.number, torch.zeros_like(weight.parameter, dtype=torch.float32, requires_grad=False)
            )
            kept.mul_(_BETA).add_(gradient)

    def of(self, optimizer: torch.optim.Optimizer, weight: Weight) -> float:
        state, group = optimizer.state.get(weight.parameter, {}), weight.group
        if not _keeps_momentum(optimizer, weight):
            momentum, part = self._sums.get(weight.number), 1.0
        elif isinstance(optimizer, SGD):
            momentum, part = state.get("momentum_buffer"), 1 - group["dampening"]
        else:
            momentum, part = state.get("exp_avg"), 1 - group["betas"][0]
        return 0.0 if momentum is None else float(momentum.float().abs().mean()) / float(part)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._sums.clear()


def _keeps_momentum(optimizer: torch.optim.Optimizer, weight: Weight) -> bool:
    if isinstance(optimizer, SGD):
        return bool(weight.group["momentum"]) and weight.group["dampening"] < 1
    return isinstance(optimizer, _WITH_FIRST_MOMENT)


class GradientRms:
    """The root of the mean square of the gradient, over the last steps that were measured.

    Args:
        remembered: how many steps.
    """

    def __init__(self, remembered: int = 10) -> None:
        self._remembered = remembered
        self._squares: dict[int, deque[float]] = {}

    def see(self, optimizer: torch.optim.Optimizer, weights: Sequence[Weight], *, measuring: bool) -> None:
        for weight in weights if measuring else ():
            if weight.parameter.grad is not None:
                self._note(weight.number, [float(weight.parameter.grad.float().square().mean())])

    def of(self, optimizer: torch.optim.Optimizer, weight: Weight) -> float:
        squares = self._squares.get(weight.number, ())
        return float((sum(squares) / len(squares)) ** 0.5) if squares else 0.0

    def _note(self, number: int, squares: Iterable[float]) -> None:
        self._squares.setdefault(number, deque(maxlen=self._remembered)).extend(squares)

    def state_dict(self) -> dict[str, Any]:
        return {"squares": {str(number): list(squares) for number, squares in self._squares.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._squares.clear()
        for number, squares in state["squares"].items():
            self._note(int(number), squares)
