"""A batch sampler for plain DataLoaders: the order of halfbyte, resumable, split over ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from halfbyte.keyed.hashes import check_seed
from halfbyte.loader.cursor import Cursor
from halfbyte.loader.dataset import Dataset, SampleRequest

__all__ = ["BatchSampler"]


class BatchSampler:
    """Batches of sample numbers for ``DataLoader(ds, batch_sampler=…)``.

    The batches are those of ``Loader`` with the same settings, for any number of workers. An exhausted
    sampler goes on to the next epoch by itself. Ranks get disjoint shares and equally many batches.

    Args:
        dataset: the data set to sample from.
        batch_size: samples a batch and rank.
        shuffle: False for the stored order.
        seed: of the order; None takes the data set's.
        window: records mixed with each other, None for all.
        drop_last: leave out batches that are not full.
        rank, world_size: found from torch.distributed or torchrun if not given.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        batch_size: int,
        shuffle: bool = True,
        seed: int | None = None,
        window: int | None = 4,
        drop_last: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        self._starts = dataset.records.index.starts
        self._cursor = Cursor(
            dataset.records.index.num_samples,
            batch_size=batch_size,
            seed=dataset.seed if seed is None else check_seed(seed),
            shuffle=shuffle,
            window=window,
            drop_last=drop_last,
            rank=rank,
            world_size=world_size,
        )

    def __len__(self) -> int:
        return len(self._cursor)

    def __iter__(self) -> Iterator[list[SampleRequest]]:
        cursor = self._cursor
        cursor.steps_taken = 0
        order, share, steps = cursor.order, cursor.share, len(cursor)
        for step in range(steps):
            records, indices = order.locate(share.batch(step))
            numbers = self._starts[records] + indices
            cursor.steps_taken = step + 1
            yield [SampleRequest(number, order.epoch) for number in numbers.tolist()]
        cursor.end_epoch()

    @property
    def epoch(self) -> int:
        """The epoch that the next iteration is of."""
        return self._cursor.epoch

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; the present one, even partly done, is left as it is."""
        self._cursor.begin_epoch(epoch)

    def state_dict(self, batches_done: int | None = None) -> dict[str, Any]:
        """Progress as JSON values.

        Args:
            batches_done: batches of this iteration that training has finished. A DataLoader with workers asks
                for batches ahead of use, so count them yourself; None takes those that were handed out, which
                is right without workers.
        """
        return self._cursor.state_dict(batches_done)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state, on any number of ranks and workers and with any batch size."""
        self._cursor.load_state_dict(state)
