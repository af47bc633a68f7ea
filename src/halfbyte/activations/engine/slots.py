"""What the pack hook hands to autograd, and what it shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from halfbyte.activations.policy.needs import Need
from halfbyte.activations.policy.saved_tensor import Saver

if TYPE_CHECKING:
    from halfbyte.activations.codecs.base import Packed
    from halfbyte.activations.engine.ledger import Ledger
    from halfbyte.activations.engine.row import Row

__all__ = ["Entry", "Kept", "Slot"]

Kept = tuple[Tensor, int]
"""A tensor kept as it is (a parameter, a buffer, a small one), and the version that was saved."""


class Slot:
    """One save of a tensor by one field of one node. Autograd holds it; it holds the entry, which others may
    share.

    Attributes:
        entry: what was saved.
        sequence: number of the node that was the newest at that time: the saver's, if a node saved it.
        saver: node and field, once proven; None until then, and for ever when no node that can be looked into
            has it.
        need: of that saver.
        size: its shape, where that is not the entry's.
        reader: what the policy's watcher returned for its saver, in steps that are watched.
    """

    __slots__ = ("__weakref__", "entry", "need", "reader", "saver", "sequence", "size")

    def __init__(self, entry: Entry, sequence: int, size: torch.Size | None = None) -> None:
        self.entry = entry
        self.sequence = sequence
        self.size = size
        self.saver: Saver | None = None
        self.need = Need.VALUE
        self.reader: object | None = None


class Entry:
    """One saved tensor: first an alias of it, then its one encoding.

    Autograd holds the slots, the slots hold the entry, and nothing else holds either: the bytes go when
    backward lets go of them, or when the graph is dropped, without a garbage collector.

    Attributes:
        alias: the tensor, detached, until it is encoded; for good when it is kept as it is.
        size: its shape.
        version: the version that was saved; another one later is an error, as in autograd itself.
        storage: address of its storage.
        aliases: the session's count of aliases by storage, as long as this one is counted there.
        path: the module that was running when it was saved first.
        model_pass: how often the model had been entered by then.
        value, mask: the encodings. `mask` stands alone when backward needs no value.
        rectified: whether it is 0 wherever its mask is.
        spoiled: changed in place after it was saved, before it was encoded.
        row, ledger, held_bytes: where it is accounted for, and with how many bytes.
    """

    __slots__ = (
        "__weakref__",
        "alias",
        "aliases",
        "held_bytes",
        "ledger",
        "mask",
        "model_pass",
        "path",
        "rectified",
        "row",
        "size",
        "spoiled",
        "storage",
        "value",
        "version",
    )

    def __init__(
        self, alias: Tensor, storage: int, aliases: dict[int, int], path: str = "", model_pass: int = 0
    ) -> None:
        self.alias: Tensor | None = alias
        self.version = alias._version
        self.size = alias.size()
        self.storage = storage
        self.path = path
        self.model_pass = model_pass
        self.aliases: dict[int, int] | None = aliases
        aliases[storage] = aliases.get(storage, 0) + 1
        self.value: Packed | None = None
        self.mask: Packed | None = None
        self.rectified = False
        self.spoiled = False
        self.row: Row | None = None
        self.ledger: Ledger | None = None
        self.held_bytes = 0

    def leave_count(self) -> None:
        """No longer count among the aliases that wait for an encoding."""
        aliases, self.aliases = self.aliases, None
        if aliases is not None:
            left = aliases[self.storage] - 1
            if left:
                aliases[self.storage] = left
            else:
                del aliases[self.storage]

    def __del__(self) -> None:
        self.leave_count()
        if self.held_bytes and self.ledger is not None:
            self.ledger.drop(self.held_bytes)
