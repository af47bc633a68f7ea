"""What a policy is told of a saved tensor, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import torch

from halfbyte.activations.codecs.base import Codec

if TYPE_CHECKING:
    from halfbyte.activations.policy.watcher import Watcher

__all__ = ["Plan", "Policy", "PolicyFunction", "SavedTensor", "Saver"]


class Saver(NamedTuple):
    """Who saved a tensor: the autograd node's name and its field, as ("ConvolutionBackward0", "input")."""

    node: str
    field: str

    def __str__(self) -> str:
        return f"{self.node.removesuffix('0').removesuffix('Backward')}.{self.field}"


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """A tensor that backward needs the values of.

    Attributes:
        size: its shape.
        dtype: float32, bfloat16 or float16.
        device: where it lies.
        nbytes: bytes that it holds now, expanded dimensions counted once.
        savers: every node and field that saved it, in the order of saving. Empty when none is known: inputs
            of a checkpointed region, nodes written in C++ by others.
        mask_needed: whether a saver needs its exact sign too (a ReLU that a convolution follows).
        path: the module that was running when it was first saved ("layer1.0.conv2"), "" outside of any.
        ordinal: how many tensors with the same path and savers were saved before it in this step.
    """

    size: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    nbytes: int
    savers: tuple[Saver, ...] = ()
    mask_needed: bool = False
    path: str = ""
    ordinal: int = field(default=0, compare=False)

    def saved_by(self, *nodes: str) -> bool:
        """Whether a node of one of these names saved it: `saved.saved_by("ConvolutionBackward0")`."""
        return any(saver.node in nodes for saver in self.savers)


@dataclass(frozen=True, slots=True)
class Plan:
    """A policy's answer: the codec, or None to keep the tensor as it is; and why, in a few words, for the
    ledger.
    """

    codec: Codec | None
    why: str = ""


PolicyFunction = Callable[[SavedTensor], Plan | Codec | None]
"""The least that a policy can be: a function. It is asked only of tensors whose values backward needs; what
can be held exactly in fewer bytes (masks, indices, shapes) is, before any policy is asked.
"""


class Policy:
    """A policy with a memory: schedules, budgets. Subclasses answer `plan`; the rest has sensible defaults.

    Attributes:
        version: changes whenever `plan` may answer otherwise than before; answers are cached as long as it
            does not.
    """

    version: int = 0

    def plan(self, saved: SavedTensor) -> Plan | Codec | None:
        raise NotImplementedError

    def __call__(self, saved: SavedTensor) -> Plan | Codec | None:
        return self.plan(saved)

    def begin_step(self, step: int, epoch: int) -> None:
        """Called when a context is entered: `step` counts from 0, `epoch` is what the user last set."""

    def follow(self, optimizer: torch.optim.Optimizer, scaler: torch.amp.GradScaler | None = None) -> None:
        """Say which optimizer trains the model, and what scales its loss; callbacks of trainers do. Most
        policies need not know.
        """

    def watch(self) -> Watcher | None:
        """What watches the step that was last begun; None for nothing, which costs nothing."""
        return None

    def state_dict(self) -> dict[str, object]:
        """What must be saved to go on as if never interrupted; small and JSON-able."""
        return {}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take up what `state_dict` gave."""
