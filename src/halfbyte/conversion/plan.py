"""Which files go into which record, as a pure function of their sizes and the settings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfbyte.keyed.bijection import Bijection
from halfbyte.keyed.hashes import Stream, derive_key

__all__ = ["MIN_SAMPLES", "Plan", "make_plan"]

# A record of fewer is a poor draw for a batch, and costs a request for little.
MIN_SAMPLES = 64

# Far below the format's limit: it keeps the sample table and the work in flight small.
_MAX_SAMPLES = 1 << 18


@dataclass(frozen=True)
class Plan:
    """The records to be.

    Attributes:
        order: int64 (n,), every source once, record after record.
        starts: int64 (R + 1,), where each record begins in ``order``; the last is n.
    """

    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def record(self, number: int) -> npt.NDArray[np.int64]:
        """Indices of the sources of a record, in their order."""
        return self.order[self.starts[number] : self.starts[number + 1]]


def make_plan(sizes: npt.NDArray[np.int64], *, seed: int, record_bytes: int, keep_order: bool) -> Plan:
    """Cut sources into records of about equal bytes.

    Args:
        sizes: int64 (n,), bytes of each source.
        seed: of the shuffle, in [0, 2**64).
        record_bytes: what a record may hold of the sources; exceeded where ``MIN_SAMPLES`` ask for more.
        keep_order: leave the sources as they are, instead of shuffling them.

    Returns:
        Records of at least ``MIN_SAMPLES`` sources each, if there are as many, and as even as whole sources
        allow: there is no small last one.
    """
    order = np.arange(len(sizes), dtype=np.int64) if keep_order else _shuffle(len(sizes), seed)
    ends = np.cumsum(sizes[order])
    total = int(ends[-1]) if len(ends) else 0
    wanted = max(-(-total // record_bytes), -(-len(sizes) // _MAX_SAMPLES))
    count = max(1, min(wanted, len(sizes) // MIN_SAMPLES))
    targets = total * (np.arange(1, count) / count)
    cuts = np.searchsorted(ends, targets, side="left") + 1
    # The floor, from both ends: cut r leaves MIN_SAMPLES for each record before and after it.
    steps = MIN_SAMPLES * np.arange(1, count)
    cuts = np.maximum.accumulate(np.maximum(cuts - steps, 0)) + steps
    cuts = np.minimum(cuts, len(sizes) - steps[::-1])
    return Plan(order, np.concatenate([[0], cuts, [len(sizes)]]).astype(np.int64))


def _shuffle(count: int, seed: int) -> npt.NDArray[np.int64]:
    """A permutation of [0, count) that is the same for ever."""
    bijection = Bijection(derive_key(seed, Stream.SOURCES), count)
    return bijection.forward(np.arange(count, dtype=np.int64))
