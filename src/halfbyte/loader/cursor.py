"""Where a reader is: epoch, order, share and step; shared by every door so that all agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from halfbyte.errors import StateError
from halfbyte.loader.intervals import Intervals
from halfbyte.loader.order import EpochOrder
from halfbyte.loader.progress import State
from halfbyte.loader.share import Share
from halfbyte.loader.topology import find_topology

__all__ = ["Cursor"]


class Cursor:
    """The order of an epoch, this rank's batches of it, and how many of them were taken.

    Args:
        record_sizes: samples a record, integers (R,).
        batch_size: samples a batch and rank.
        seed, shuffle, window: of the order (see :class:`EpochOrder`).
        drop_last: leave out batches that are not full.
        rank, world_size: found from torch.distributed or torchrun if not given; so make the cursor in the
            training process: a spawned worker has no process group.
    """

    def __init__(
        self,
        record_sizes: npt.NDArray[np.int64],
        *,
        batch_size: int,
        seed: int,
        shuffle: bool,
        window: int | None,
        drop_last: bool,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        self._sizes = record_sizes
        self._settings = {"seed": seed, "window": window, "shuffle": shuffle}
        self._batch_size, self._drop_last = batch_size, drop_last
        self._topology = find_topology(rank=rank, world_size=world_size)
        self.epoch = -1
        self.steps_taken = 0
        self.begin_epoch(0)

    def begin_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; nothing happens if that is the present one, even a partly done one."""
        if epoch == self.epoch:
            return
        if isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 0:
            raise ValueError(f"epoch is {epoch!r}, expected an integer of 0 or more; count epochs from 0")
        self.epoch = epoch
        self.restart()

    def end_epoch(self) -> None:
        """Go on to the next epoch."""
        self.begin_epoch(self.epoch + 1)

    @property
    def order(self) -> EpochOrder:
        """The order of the present epoch."""
        return self._order

    @property
    def share(self) -> Share:
        """This rank's batches of what is left of the present epoch."""
        return self._share

    def __len__(self) -> int:
        """Batches of this rank in what is left of the epoch; an empty one at the end does not count."""
        return count_batches(self._share)

    def state_dict(self, steps_taken: int | None = None) -> dict[str, Any]:
        """The present moment as JSON values; ``steps_taken`` counts batches since the share began."""
        taken = self.steps_taken if steps_taken is None else steps_taken
        return State.of(self._order, self._share.left_after(taken)).to_dict()

    def load_state_dict(self, values: Mapping[str, Any]) -> None:
        """Go to a saved moment; a finished epoch means the start of the next.

        Raises:
            StateError: it belongs to other data, another order, or one worker only.
        """
        state = State.from_dict(values)
        if state.worker is not None:
            raise StateError(
                f"state: it is of worker {state.worker[0]} of {state.worker[1]}, expected one of all "
                f"workers; join the states of all workers with merge_states first"
            )
        self.resume(state)
        if not len(self._share) and state.left.count < state.num_samples:
            self.end_epoch()

    def resume(self, state: State) -> None:
        """Go to a moment, even one at which nothing is left; StateError as above."""
        state.require(num_samples=int(self._sizes.sum()), **self._settings)  # type: ignore[arg-type]
        self._place(state.epoch, state.left)

    def restart(self) -> None:
        """Go to the start of the present epoch."""
        self._place(self.epoch, Intervals.whole(int(self._sizes.sum())))

    def _place(self, epoch: int, left: Intervals) -> None:
        self._order = EpochOrder(self._sizes, epoch=epoch, **self._settings)  # type: ignore[arg-type]
        self._share = Share(
            left,
            self._batch_size,
            drop_last=self._drop_last,
            rank=self._topology.rank,
            world_size=self._topology.world_size,
        )
        self.epoch = epoch
        self.steps_taken = 0


def count_batches(share: Share) -> int:
    """Steps of a share at which this rank has samples (all, but for the rare last one that is empty)."""
    steps = len(share)
    return steps - 1 if steps and not len(share.batch(steps - 1)) else steps
