"""Who else holds a storage: compressing frees nothing as long as somebody does."""

from __future__ import annotations

from functools import cache

import torch

__all__ = ["counts_references", "outside_references"]


@cache
def _own_count() -> int:
    """What the count says of a storage that one tensor holds and that Python has seen, beyond that one
    tensor.

    From torch 2.13 on a storage's Python object, once made, counts for as long as the storage lives; before,
    it did not. So this is measured, on a storage like those that are asked about later.
    """
    probe = torch.empty(1)
    address = probe.untyped_storage()._cdata
    return int(torch._C._storage_Use_Count(address)) - 1


@cache
def counts_references() -> bool:
    """Whether this torch can tell how many tensors hold a storage."""
    try:
        before = _own_count()
        one = torch.empty(1)
        address = one.untyped_storage()._cdata
        alias = one.detach()
        counted = int(torch._C._storage_Use_Count(address)) - before
        del one
        left = int(torch._C._storage_Use_Count(address)) - before
        del alias
    except AttributeError:
        return False
    return (counted, left) == (2, 1)


def outside_references(storage: int, aliases: int) -> int:
    """Tensors that hold this storage (address of its StorageImpl, `_cdata`) beside `aliases` of our own."""
    return int(torch._C._storage_Use_Count(storage)) - _own_count() - aliases
