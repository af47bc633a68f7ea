"""How far a long operation is, as a value for whoever draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Progress", "ProgressCallback"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Work done so far, and in all (0 where unknown)."""

    done_bytes: int
    total_bytes: int
    done_samples: int
    total_samples: int


ProgressCallback = Callable[[Progress], None]
