"""Who saved what. A saver is known by proof, never by guess: the very object that the pack hook returned lies
in the field `_raw_saved_<name>` of its node. Reading that field runs no hook, unlike `_saved_<name>`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from halfbyte.activations.engine.slots import Slot
from halfbyte.activations.policy.needs import Need, need_of
from halfbyte.activations.policy.saved_tensor import Saver

__all__ = ["GraphWalk", "NodeCreation", "Owners", "saved_fields"]

_PREFIX = "_raw_saved_"
_MOST_REMEMBERED = 65536
_ACCUMULATE_GRAD = 1 << 62

_fields: dict[type, list[tuple[str, str]]] = {}


def saved_fields(node: Any) -> list[tuple[str, str]]:
    """The attributes where a node keeps saved tensors, each with the field's name; looked up once a type."""
    kind = type(node)
    found = _fields.get(kind)
    if found is None:
        names = [name for name in dir(node) if name.startswith(_PREFIX)]
        found = _fields[kind] = [(name, name.removeprefix(_PREFIX)) for name in names]
    return found


class Owners:
    """Claims slots for the nodes that hold them.

    Attributes:
        on_claim: called with each node and saver that reads values, when set; what it returns is kept with
            the slot.
    """

    on_claim: Callable[[Any, Saver], object | None] | None = None

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._forgotten = -1  # nodes up to this number count as seen
        self._savers: dict[tuple[str, str], tuple[Saver, Need]] = {}

    def knows(self, sequence: int) -> bool:
        """Whether the node of this number was looked into: a slot of it without a saver will have none."""
        return sequence <= self._forgotten or sequence in self._seen

    def learn(self, node: Any, current: int) -> None:
        """Called with the node that produced a tensor about to be saved, and the number of the newest node:
        it may be saving at this moment, and not all of its fields are filled.
        """

    def watch(self) -> AbstractContextManager[Any]:
        """Entered while tensors are saved."""
        return nullcontext()

    def claim(self, node: Any) -> None:
        """Look into a node: every slot that it holds is its own."""
        for attribute, field in saved_fields(node):
            try:
                raw = getattr(node, attribute)
            except RuntimeError:  # backward has been through this node already
                return
            for saved in raw if type(raw) in (tuple, list) else (raw,):
                try:
                    slot = saved.data
                except (AttributeError, RuntimeError):  # an absent tensor, or one saved without hooks
                    continue
                if type(slot) is Slot and slot.saver is None:
                    self._give(slot, node, field)

    def _give(self, slot: Slot, node: Any, field: str) -> None:
        name = node.name()
        known = self._savers.get((name, field))
        if known is None:
            known = self._savers[name, field] = Saver(name, field), need_of(name, field)
        slot.saver, slot.need = known
        if self.on_claim is not None and slot.need in (Need.VALUE, Need.TWO_VALUES):
            slot.reader = self.on_claim(node, slot.saver)

    def _remember(self, sequence: int) -> None:
        self._seen.add(sequence)
        if len(self._seen) > _MOST_REMEMBERED:
            self._forgotten = sequence - _MOST_REMEMBERED // 8
            self._seen = {number for number in self._seen if number > self._forgotten}


class GraphWalk(Owners):
    """For torch without `node_creation_hook`: walks from each saved tensor's producer to its ancestors, every
    node once.

    A node is linked to its outputs only after it has saved its tensors, so each is reached by a later save.
    """

    def learn(self, node: Any, current: int) -> None:
        seen = self._seen
        ahead = [node]
        while ahead:
            node = ahead.pop()
            sequence = node._sequence_nr()
            # AccumulateGrad has the highest number of all; it saves nothing and leads nowhere.
            if sequence in seen or sequence <= self._forgotten or sequence >= _ACCUMULATE_GRAD:
                continue
            if sequence != current:
                self._remember(sequence)
                self.claim(node)
            ahead.extend([parent for parent, _ in node.next_functions if parent is not None])


class NodeCreation(Owners):
    """For torch 2.14 and newer: looks into every node as soon as it is complete."""

    def watch(self) -> AbstractContextManager[Any]:
        return torch.autograd.graph.node_creation_hook(self._created)  # type: ignore[attr-defined, no-any-return]

    def _created(self, node: Any) -> None:
        sequence = node._sequence_nr()
        if sequence < _ACCUMULATE_GRAD:
            self._remember(sequence)
            self.claim(node)
