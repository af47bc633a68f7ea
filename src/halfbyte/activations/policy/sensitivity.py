"""How much the error of a saved tensor can disturb the gradient: its spread, times what comes back to its
savers. Seen in an ordinary step, by hooks on the nodes that read it; no step is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.group_quantized import GroupQuantized
from halfbyte.activations.policy.saved_tensor import SavedTensor, Saver

__all__ = ["Sensitivity"]

Observe = Callable[[SavedTensor, float, float], None]


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

    __slots__ = ("gradient", "missing", "observe", "saved", "spread")

    def __init__(self, observe: Observe, saved: SavedTensor, spread: float, missing: int) -> None:
        self.observe = observe
        self.saved = saved
        self.spread = spread
        self.missing = missing
        self.gradient = 0.0

    def add(self, gradient: float) -> None:
        self.gradient += gradient
        self.missing -= 1
        if self.missing == 0:
            self.observe(self.saved, self.spread, self.gradient)


class Sensitivity:
    """Watches the tensors that get a group quantizer.

    Args:
        observe: called in backward, once for each of them, with

            - the tensor, as the policy was told of it,
            - how large its error would be with one bit: `GroupQuantized.squared_range`,
            - Σ ‖∂loss/∂output‖² over the nodes that read its values.
    """

    def __init__(self, observe: Observe) -> None:
        self._observe = observe

    def reader(self, node: Any, saver: Saver) -> _Gradient:
        gradient = _Gradient()
        node.register_prehook(gradient)
        return gradient

    def encoded(
        self, saved: SavedTensor, x: Tensor, value: Packed | None, readers: Sequence[_Gradient]
    ) -> None:
        if value is not None and isinstance(value.codec, GroupQuantized) and readers:
            spread = float(value.codec.squared_range(value))
            observed = _Observed(self._observe, saved, spread, len(readers))
            for gradient in readers:
                gradient.tensor = observed
