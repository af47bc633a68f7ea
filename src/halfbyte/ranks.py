"""What ranks tell each other, so that all decide from the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch.distributed as dist

__all__ = ["mean_over_ranks", "rank_and_world_size", "together", "worst_over_ranks"]

T = TypeVar("T")


def rank_and_world_size() -> tuple[int, int]:
    """Which rank this is and how many there are; (0, 1) without a process group."""
    return (dist.get_rank(), dist.get_world_size()) if _is_distributed() else (0, 1)


def mean_over_ranks(values: Sequence[float]) -> list[float]:
    """The mean of each value over all ranks: the same numbers, to the bit, on every one.

    All ranks must call it in the same steps, with equally many values.
    """
    everyone = _gather(list(values))
    return [math.fsum(column) / len(everyone) for column in zip(*everyone, strict=True)]


def worst_over_ranks(values: Sequence[float]) -> list[float]:
    """The largest of each value over all ranks.

    All ranks must call it in the same steps, with equally many values.
    """
    return [max(column) for column in zip(*_gather(list(values)), strict=True)]


def together(work: Callable[[], T]) -> T:
    """Do something on every rank; where it fails on one, it fails on all.

    The work itself must not wait for other ranks: one that failed would never come.

    Raises:
        RuntimeError: it failed on some rank of several; says which and why.
        Exception: with one rank, whatever the work raised.
    """
    if not _is_distributed():
        return work()
    cause: Exception | None = None
    try:
        result = work()
    except Exception as error:
        cause = error
    failures = _gather(None if cause is None else f"{type(cause).__name__}: {cause}")
    for rank, failure in enumerate(failures):
        if failure is not None:
            raise RuntimeError(f"rank {rank} failed with {failure}") from cause
    return result


def _is_distributed() -> bool:
    return dist.is_available() and dist.is_initialized()


def _gather(value: T) -> list[T]:
    if not _is_distributed():
        return [value]
    # Objects, as this picks the device that the backend wants, and sums would be rounded by its order.
    everyone: list[T] = [value] * dist.get_world_size()
    dist.all_gather_object(everyone, value)
    return everyone
