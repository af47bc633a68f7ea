"""Which of how many training processes this one is, found without importing torch."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

__all__ = ["Topology", "find_topology"]


@dataclass(frozen=True)
class Topology:
    """This process among all that train together.

    Args:
        rank: index of this process in [0, world_size).
        world_size: number of processes, at least 1.

    Raises:
        ValueError: the numbers contradict each other.
    """

    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        if self.world_size < 1:
            raise ValueError(
                f"world_size is {self.world_size}, expected at least 1; for a single process leave it out"
            )
        if not 0 <= self.rank < self.world_size:
            raise ValueError(
                f"rank is {self.rank}, expected 0 to {self.world_size - 1} for world_size {self.world_size}; "
                f"pass rank and world_size together"
            )


def find_topology(*, rank: int | None = None, world_size: int | None = None) -> Topology:
    """Find rank and world size: what is given wins, then torch.distributed, then torchrun's environment.

    Call it in the training process: a DataLoader worker that was spawned has no process group of its own.

    Args:
        rank: index of this process; None looks for it.
        world_size: number of processes; None looks for it.

    Returns:
        The topology; rank 0 of 1 if nothing says otherwise.

    Raises:
        ValueError: the numbers contradict each other, or the environment holds half of them or no integers.
    """
    if rank is not None and world_size is not None:
        return Topology(rank, world_size)
    found = _from_torch() or _from_environment() or Topology()
    return Topology(
        rank=found.rank if rank is None else rank,
        world_size=found.world_size if world_size is None else world_size,
    )


def _from_torch() -> Topology | None:
    # Only a torch that is already imported can have a process group; importing it costs seconds.
    distributed = sys.modules.get("torch.distributed") if "torch" in sys.modules else None
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return Topology(int(distributed.get_rank()), int(distributed.get_world_size()))


def _from_environment() -> Topology | None:
    names = ("RANK", "WORLD_SIZE")
    found = {name: os.environ[name] for name in names if name in os.environ}
    if not found:
        return None
    if len(found) < len(names):
        (present,) = found
        (absent,) = set(names) - set(found)
        raise ValueError(
            f"environment: {present} is {found[present]!r} but {absent} is not set, expected both or "
            f"neither; start with torchrun, unset {present}, or pass rank and world_size"
        )
    try:
        return Topology(int(found["RANK"]), int(found["WORLD_SIZE"]))
    except ValueError as error:
        raise ValueError(
            f"environment: RANK is {found['RANK']!r} and WORLD_SIZE {found['WORLD_SIZE']!r}, expected "
            f"integers with 0 <= RANK < WORLD_SIZE; correct them, or pass rank and world_size"
        ) from error
