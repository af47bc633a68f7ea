"""What a policy can have told to it while a step runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor

from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.policy.saved_tensor import SavedTensor, Saver

__all__ = ["Watcher"]


class Watcher(Protocol):
    """Watches one step: which nodes read saved tensors, and what becomes of these.

    It must not hold nodes: they hold what it returns, and the cycle would keep all that was saved.
    """

    def reader(self, node: Any, saver: Saver) -> object | None:
        """A node was found to read values of a saved tensor. This is the time to hang hooks on it.

        Returns:
            What `encoded` shall get for this reader; None to hear nothing of it.
        """

    def encoded(self, saved: SavedTensor, x: Tensor, value: Packed | None, readers: Sequence[Any]) -> None:
        """It was settled what becomes of a tensor that the policy was asked about.

        Args:
            saved: what the policy was told of it.
            x: the tensor; unless it is kept, its memory is given up after this call.
            value: what is held instead; None if the tensor is kept: by the policy, or as nothing smaller was
                found.
            readers: what `reader` returned for its savers, without None.
        """
