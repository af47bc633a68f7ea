"""Sets of positions as sorted intervals: what is left of an epoch, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Intervals"]


@dataclass(frozen=True)
class Intervals:
    """A set of positions, kept as sorted, disjoint, non-touching intervals [start, stop).

    Args:
        pairs: (start, stop) of each interval, with 0 <= start < stop; `Intervals.union` accepts any order.

    Raises:
        ValueError: an interval is empty or negative, or starts before or where the last one stops.
    """

    pairs: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        last = -1
        for start, stop in self.pairs:
            if not last < start < stop:
                raise ValueError(
                    f"intervals: [{start}, {stop}) comes after {last}, expected sorted, disjoint, non-empty "
                    f"intervals with a gap between them; build them with Intervals.union"
                )
            last = stop

    @classmethod
    def whole(cls, num_samples: int) -> Intervals:
        """Return all positions of an epoch: [0, num_samples), or none."""
        return cls.union([(0, num_samples)])

    @classmethod
    def union(cls, pairs: Iterable[tuple[int, int]]) -> Intervals:
        """Join intervals in any order; empty ones vanish, overlapping and touching ones melt into one."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted((int(start), int(stop)) for start, stop in pairs):
            if start >= stop:
                continue
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        return cls(tuple(merged))

    @cached_property
    def count(self) -> int:
        """Number of positions in the set."""
        return sum(stop - start for start, stop in self.pairs)

    def positions(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the positions, int64, that come start-th to (stop - 1)-th in ascending order."""
        return self._at(np.arange(start, stop, dtype=np.int64))

    def select(self, starts: ArrayLike, stops: ArrayLike) -> Intervals:
        """Return the subset whose members come starts[i]-th to (stops[i] - 1)-th, for any i.

        Args:
            starts: integers (m,) in [0, count], ascending.
            stops: integers (m,), each at least its start and at most the next start.
        """
        begin, end = np.asarray(starts, dtype=np.int64), np.asarray(stops, dtype=np.int64)
        begin, end = begin[begin < end], end[begin < end]
        if not begin.size:
            return Intervals()
        edges = np.unique(np.concatenate([begin, end, self._counts_before]))
        # Between two neighbouring edges lies a piece of one interval, selected as a whole or not at all.
        owner = np.searchsorted(begin, edges[:-1], side="right") - 1
        selected = np.flatnonzero((owner >= 0) & (edges[:-1] < end[owner]))
        first = self._at(edges[selected])
        last = first + (edges[selected + 1] - edges[selected])
        return Intervals.union(zip(first.tolist(), last.tolist(), strict=True))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.array([start for start, _ in self.pairs], dtype=np.int64)

    @cached_property
    def _counts_before(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(stop - start for start, stop in self.pairs)], dtype=np.int64)

    def _at(self, ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
        if not ordinals.size:
            return ordinals
        owner = np.searchsorted(self._counts_before, ordinals, side="right") - 1
        return self._starts[owner] + (ordinals - self._counts_before[owner])
