"""How much the error of a saved tensor can disturb the gradient: its spread, times what comes back to its
savers. Seen in an ordinary step, by hooks on the nodes that read it; no step is run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.group_quantized import GroupQuantized
from halfbyte.activations.engine.slots import Slot
from halfbyte.activations.policy.needs import Need
from halfbyte.activations.policy.saved_tensor import Policy, SavedTensor

__all__ = ["Sensitivity"]


class _Gradient:
    """The gradient at one saver's output; it hangs on the node and holds neither node nor slot."""

    __slots__ = ("tensor",)

    def __init__(self) -> None:
        self.tensor: _Observed | None = None

    def __call__(self, gradients: Sequence[Tensor | None]) -> None:
        if self.tensor is not None:
            self.tensor.add(sum(float(g.detach().square().sum()) for g in gradients if g is not None))


class _Observed:
    """A tensor of which some savers' gradients are still to come."""

    __slots__ = ("gradient", "missing", "policy", "saved", "spread")

    def __init__(self, policy: Policy, saved: SavedTensor, spread: float, missing: int) -> None:
        self.policy = policy
        self.saved = saved
        self.spread = spread
        self.missing = missing
        self.gradient = 0.0

    def add(self, gradient: float) -> None:
        self.gradient += gradient
        self.missing -= 1
        if self.missing == 0:
            self.policy.observe(self.saved, self.spread, self.gradient)


class Sensitivity:
    """Tells a policy what one step shows.

    Args:
        policy: whose `observe` is called during backward, once for every tensor that it gave a group
            quantizer.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def claimed(self, node: Any, slot: Slot) -> None:
        """A node was found to hold this slot: watch the gradient that it will get."""
        if slot.need in (Need.VALUE, Need.TWO_VALUES):
            slot.gradient = _Gradient()
            node.register_prehook(slot.gradient)

    def encoded(self, saved: SavedTensor, value: Packed, slots: Sequence[Slot]) -> None:
        """A tensor got its encoding."""
        gradients = [slot.gradient for slot in slots if isinstance(slot.gradient, _Gradient)]
        if isinstance(value.codec, GroupQuantized) and gradients:
            spread = float(value.codec.squared_range(value))
            observed = _Observed(self._policy, saved, spread, len(gradients))
            for gradient in gradients:
                gradient.tensor = observed
