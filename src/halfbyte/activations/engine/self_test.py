"""Whether this torch has what the engine rests on, found out by trying it once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch

from halfbyte.activations.engine.lifetime import counts_references
from halfbyte.activations.engine.owners import GraphWalk, NodeCreation, Owners
from halfbyte.activations.engine.slots import Entry, Slot
from halfbyte.activations.policy.saved_tensor import Saver

__all__ = ["can_defer", "new_owners"]


def new_owners() -> Owners:
    """The best way that this torch has to find out who saved a tensor."""
    return NodeCreation() if hasattr(torch.autograd.graph, "node_creation_hook") else GraphWalk()


@cache
def can_defer() -> bool:
    """Whether savers can be proven, references be counted and versions be read.

    Where not, tensors are encoded as soon as they are packed, each as one whose saver is unknown: right, but
    with less saving.
    """
    # Modes that would mislead the test (inference, fake tensors, torch.func) are not set in a new thread.
    with ThreadPoolExecutor(1) as clean:
        return clean.submit(_can_defer).result()


def _can_defer() -> bool:
    try:
        return counts_references() and _proves_savers() and _versions_are_shared()
    except (AttributeError, RuntimeError, TypeError):
        return False


def _proves_savers() -> bool:
    owners = new_owners()
    slots: list[Slot] = []

    def pack(t: torch.Tensor) -> Slot:
        if t.grad_fn is not None:
            owners.learn(t.grad_fn, torch._C._autograd._get_sequence_nr() - 1)
        slots.append(Slot(Entry(t.detach(), 0, {}), torch._C._autograd._get_sequence_nr() - 1))
        return slots[-1]

    x = torch.ones(2, 2, requires_grad=True)
    with (
        torch.enable_grad(),
        owners.watch(),
        torch.autograd.graph.saved_tensors_hooks(pack, lambda slot: slot.entry.alias),
    ):
        y = torch.relu(x * 1.0).exp()
        z = y.sin()
    savers = [slot.saver for slot in slots]
    del z
    return Saver("ReluBackward0", "result") in savers and Saver("ExpBackward0", "result") in savers


def _versions_are_shared() -> bool:
    x = torch.zeros(2)
    alias = x.detach()
    x.add_(1)
    return alias._version == x._version == 1
