"""Who takes which of the positions that are left: shares of ranks and workers, cut into batches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from halfbyte.loader.intervals import Intervals
from halfbyte.loader.topology import Topology

__all__ = ["Share"]


@dataclass(frozen=True)
class Share:
    """What one rank takes of the positions that are left, cut into batches.

    The M positions left are split in order and evenly: every rank gets M // world_size, the first
    M % world_size ranks one more. All ranks take the same number of steps; nothing is repeated or padded.

    - drop_last=False: ceil(M / (world_size * batch_size)) steps visit all positions. Batches are full until
      the end, where a rank that would run dry a step early keeps one sample for the last step. A rank has
      fewer samples than there are steps, and therefore an empty last batch, in two cases only: M < world_size
      (the single step is empty on the ranks from M on), and batch_size 1 where world_size does not divide M
      (the last step is empty on the ranks from M % world_size on).
    - drop_last=True: floor(M / (world_size * batch_size)) steps of full batches; what is over on each rank
      (at most batch_size samples) is not visited.

    Args:
        left: the positions that all ranks together still have to visit.
        batch_size: samples per batch and rank, at least 1.
        drop_last: leave out batches that are not full.
        rank: this process, in [0, world_size).
        world_size: processes that train in lockstep.

    Raises:
        ValueError: the batch size is below 1, or there is no such rank.
    """

    left: Intervals
    batch_size: int
    drop_last: bool = False
    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size is {self.batch_size}, expected at least 1; pass samples per batch")
        Topology(self.rank, self.world_size)  # checks both

    def __len__(self) -> int:
        full, over = divmod(self.left.count, self.world_size * self.batch_size)
        return full + (over > 0 and not self.drop_last)

    def batch(self, step: int) -> NDArray[np.int64]:
        """Return the positions, int64 (batch,), that this rank takes at a step.

        Raises:
            IndexError: there is no such step.
        """
        self._check_step(step, len(self) - 1)
        rank = np.array([self.rank])
        return self.left.positions(int(self._reached(rank, step)[0]), int(self._reached(rank, step + 1)[0]))

    def left_after(self, steps: int) -> Intervals:
        """Return what all ranks together still have to visit once each has taken so many steps.

        With drop_last, the positions that no full batch takes always stay in it. A share of the result with
        the same batch size and world size goes on with the same batches.

        Raises:
            IndexError: the share has fewer steps.
        """
        self._check_step(steps, len(self))
        ranks = np.arange(self.world_size)
        return self.left.select(self._reached(ranks, steps), self._first(ranks + 1))

    def for_worker(self, worker: int, num_workers: int) -> Share:
        """Return the share of worker w of n: steps [S*w//n, S*(w+1)//n) of the S steps of this share.

        Its batches are this share's batches of those steps, so no batch depends on the number of workers. It
        knows what worker w of every rank leaves: the `left_after` of all n workers of any rank add up to what
        all ranks leave.

        Args:
            worker: index of the worker, in [0, num_workers).
            num_workers: workers of each rank, at least 1.

        Raises:
            ValueError: there is no such worker.
        """
        if not 0 <= worker < num_workers:
            raise ValueError(
                f"worker is {worker}, expected 0 to num_workers - 1 with num_workers {num_workers}; "
                f"pass index and number of workers of the same DataLoader"
            )
        ranks, steps = np.arange(self.world_size), len(self)
        starts = self._reached(ranks, steps * worker // num_workers)
        stops = self._reached(ranks, steps * (worker + 1) // num_workers)
        if worker == num_workers - 1:
            stops = self._first(ranks + 1)  # what drop_last does not visit still has to be left by somebody
        return replace(self, left=self.left.select(starts, stops))

    def _first(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        base, extra = divmod(self.left.count, self.world_size)
        first: NDArray[np.int64] = base * ranks + np.minimum(ranks, extra)
        return first

    def _reached(self, ranks: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
        first = self._first(ranks)
        if self.drop_last:
            return first + steps * self.batch_size
        # Every later step is spared one sample, unless the rank has fewer samples than steps.
        counts = self._first(ranks + 1) - first
        most = np.maximum(counts - (len(self) - steps), np.minimum(steps, counts))
        taken: NDArray[np.int64] = np.minimum(steps * self.batch_size, most)
        return first + taken

    def _check_step(self, step: int, last: int) -> None:
        if not 0 <= step <= last:
            raise IndexError(
                f"step {step} is outside [0, {last}] in a share of {len(self)} steps; stop at its end"
            )
