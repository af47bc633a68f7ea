"""One entered context on one thread: the pack hook, and when what it noted is encoded."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from halfbyte.activations.engine.lifetime import outside_references
from halfbyte.activations.engine.model_state import ModelState, is_plain
from halfbyte.activations.engine.slots import Entry, Kept, Slot

if TYPE_CHECKING:
    from halfbyte.activations.engine.encoding import Encoder
    from halfbyte.activations.engine.module_paths import ModulePaths
    from halfbyte.activations.engine.owners import Owners

__all__ = ["Session"]

_sequence_number: Callable[[], int] = getattr(torch._C._autograd, "_get_sequence_nr", lambda: 0)

# A saver that is not found within so many saves is taken for one that cannot be looked into.
_LONGEST_WAIT = 64
# Tensors that somebody else holds are asked about again and again: the newest few every time, of the others
# one; all, when that one is found released, since a block or a list releases many together.
_NEWEST = 6

# Where the elements lie: two tensors with the same key are the same bytes in the same order.
_Key = tuple[Any, ...]


class _Pending:
    """A noted tensor that waits for its encoding. What is only looked at is not held."""

    __slots__ = ("born", "entry", "nbytes", "slots", "storage")

    def __init__(self, entry: Entry, nbytes: int, born: int) -> None:
        self.entry = weakref.ref(entry)
        self.slots: list[weakref.ref[Slot]] = []
        self.storage = entry.storage
        self.nbytes = nbytes
        self.born = born


class _Sum:
    __slots__ = ("calls", "nbytes")

    def __init__(self) -> None:
        self.calls = self.nbytes = 0

    def add(self, nbytes: int) -> None:
        self.calls += 1
        self.nbytes += nbytes


class Session:
    """Notes saved tensors and encodes each as soon as nobody else holds it.

    *Pack* notes a tensor and who may have saved it. *Settle* runs once no reference to its storage is left
    but ours: only then does an encoding free anything, and by then every saver has come, so that one encoding
    serves them all.

    Attributes:
        owners: knows who saved what.
        paths: knows which module is running.
    """

    def __init__(
        self,
        encoder: Encoder,
        owners: Owners,
        paths: ModulePaths,
        state: ModelState,
        *,
        min_bytes: int,
        deferred: bool,
    ) -> None:
        self._encoder = encoder
        self.owners = owners
        self.paths = paths
        self._state = state
        self._min_bytes = min_bytes
        self._deferred = deferred
        self._pending: dict[_Key, _Pending] = {}
        self._aliases: dict[int, int] = {}
        self._calls = 0
        self._turn = 0
        self._passed = {what: _Sum() for what in ("model", "small", "read", "other")}

    def pack(self, t: Tensor) -> Slot | Kept:
        """The hook: called by autograd with each tensor that it saves."""
        self._calls += 1
        node = t.grad_fn
        current = _sequence_number() - 1
        if node is not None:
            self.owners.learn(node, current)
        nbytes = t.numel() * t.element_size()
        if nbytes < self._min_bytes and type(t) is Tensor and t.layout is torch.strided:
            self._passed["small"].add(nbytes)
            return _keep_small(t, node)
        plain = is_plain(t)
        if self._state.holds(t, node, plain=plain):
            self._passed["model"].add(nbytes)
            return _keep(t, node)
        if not plain:
            self._passed["other"].add(nbytes)
            return _keep(t, node)
        return self._note(t, nbytes, current)

    def _note(self, t: Tensor, nbytes: int, current: int) -> Slot:
        storage = t.untyped_storage()._cdata
        size = t.size()
        if t.is_contiguous():  # and so are its other shapes: a matrix of the same rows, a flattened map
            key: _Key = (storage, t.storage_offset(), t.numel(), t.dtype)
        else:
            key = (storage, t.storage_offset(), size, t.stride(), t.dtype)
        pending = self._pending.get(key)
        entry = None if pending is None else pending.entry()
        if entry is not None and entry.version != t._version:
            self._settle(key)
            entry = None
        if entry is None or pending is None:
            paths = self.paths
            entry = Entry(t.detach(), storage, self._aliases, paths.current(), paths.passes)
            pending = self._pending[key] = _Pending(entry, nbytes, self._calls)
        slot = Slot(entry, current, None if size == entry.size else size)
        pending.slots.append(weakref.ref(slot))
        if self._deferred:
            self._settle_ready(key)
        else:
            self._settle(key)
        return slot

    def _settle_ready(self, newest: _Key) -> None:
        keys = list(self._pending)
        older = len(keys) - _NEWEST
        if older > 0:
            self._turn += 1
            if not self._is_ready(self._pending[keys[self._turn % older]]):
                del keys[:older]
        for key in keys:
            if key != newest and self._is_ready(self._pending[key]):
                self._settle(key)

    def _is_ready(self, pending: _Pending) -> bool:
        """Whether nobody else holds the storage, and every saver is proven or cannot be."""
        aliases = self._aliases.get(pending.storage, 0)
        if not aliases or pending.entry() is None:
            return True
        if outside_references(pending.storage, aliases) > 0:
            return False
        return self._calls - pending.born > _LONGEST_WAIT or not self._unreached(pending)

    def _unreached(self, pending: _Pending) -> bool:
        """Whether a saver may still become known."""
        knows = self.owners.knows
        slots = [slot for ref in pending.slots if (slot := ref()) is not None]
        return any(slot.saver is None and not knows(slot.sequence) for slot in slots)

    def _settle(self, key: _Key, keep: Literal["", "held", "exact"] = "") -> None:
        pending = self._pending.pop(key)
        entry = pending.entry()
        if entry is None:  # backward has been here, or the graph was dropped
            self._passed["read"].add(pending.nbytes)
            return
        entry.leave_count()
        alias = entry.alias
        if alias is not None and alias._version != entry.version:
            entry.spoiled = True
            entry.alias = None
            return
        slots = [slot for ref in pending.slots if (slot := ref()) is not None]
        if slots:  # none is left when another thread's backward, or the collector, has just been here
            self._encoder.encode(entry, slots, keep)

    def reach(self, nodes: Iterable[Any]) -> None:
        """Look into these complete nodes and their ancestors too."""
        for node in nodes:
            self.owners.learn(node, current=-1)

    def finish(self) -> None:
        """Settle what is left: encode it, or keep it as it is where another one holds it or its saver is
        unknown.
        """
        for key, pending in list(self._pending.items()):
            keep: Literal["", "held", "exact"] = ""
            aliases = self._aliases.get(pending.storage, 0)
            if aliases and outside_references(pending.storage, aliases) > 0:
                keep = "held"
            elif self._deferred and self._unreached(pending):
                keep = "exact"
            self._settle(key, keep)
        for what, total in self._passed.items():
            self._encoder.passed(what, total.calls, total.nbytes)

    def abandon(self) -> None:
        """Leave what was noted as it is: after an exception there is nothing to gain."""
        self._pending.clear()


def _keep(t: Tensor, node: Any) -> Kept:
    # An output must not come back to its own node: the cycle would never be collected.
    kept = t if node is None else t.detach()
    return kept, t._version


def _keep_small(t: Tensor, node: Any) -> Kept:
    if node is not None and t.untyped_storage().nbytes() > 2 * t.numel() * t.element_size():
        t = t.detach().clone()  # a view of a small part would keep all of the storage
        return t, t._version
    return _keep(t, node)
