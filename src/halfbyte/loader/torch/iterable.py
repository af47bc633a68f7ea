"""Ready batches in the workers of a DataLoader."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from torch.utils.data import IterableDataset as TorchIterableDataset
from torch.utils.data import get_worker_info

from halfbyte.errors import StateError
from halfbyte.keyed.hashes import check_seed
from halfbyte.loader.cursor import Cursor, count_batches
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import Fidelity, describe_fidelity, fidelity_mix
from halfbyte.loader.order import EpochOrder
from halfbyte.loader.pipeline import Pipeline
from halfbyte.loader.progress import State
from halfbyte.loader.share import Share
from halfbyte.loader.shared import SharedSettings
from halfbyte.loader.torch.batches import (
    DEFAULT_PREFETCH_BYTES,
    pipeline_options,
    require_crop,
    to_tensors,
)

__all__ = ["IterableDataset"]


class IterableDataset(TorchIterableDataset[dict[str, Any]]):
    """Ready batches for ``DataLoader(it, batch_size=None, num_workers=n)``: workers read whole records.

    The batches of an epoch are those of ``Loader`` with the same settings, whatever the number of workers;
    each worker takes a run of consecutive ones. Call ``set_epoch`` before each epoch, as with
    DistributedSampler.

    Args:
        dataset, batch_size, shuffle, seed, window, drop_last, prefetch_bytes, rank, world_size: as of
            ``Loader``; ``prefetch_bytes`` is for each worker.
        fidelity: as of ``Loader``; setting ``it.fidelity`` reaches workers that are already running.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        batch_size: int,
        shuffle: bool = True,
        fidelity: Fidelity = None,
        seed: int | None = None,
        window: int | None = 4,
        drop_last: bool = False,
        prefetch_bytes: int = DEFAULT_PREFETCH_BYTES,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        require_crop(dataset)
        self.dataset = dataset
        self._seed = dataset.seed if seed is None else check_seed(seed)
        self._prefetch_bytes = prefetch_bytes
        mix = dataset.settings.mix if fidelity is None else fidelity_mix(fidelity, dataset.num_levels)
        self._settings = SharedSettings(mix)
        self._varies = shuffle or dataset.transform.is_random
        self._cursor = Cursor(
            dataset.records.index.num_samples,
            batch_size=batch_size,
            seed=self._seed,
            shuffle=shuffle,
            window=window,
            drop_last=drop_last,
            rank=rank,
            world_size=world_size,
        )
        self._resumed: State | None = None
        self._present: tuple[EpochOrder, Share, int] | None = None

    def __len__(self) -> int:
        """Batches of this rank in the present epoch, over all its workers."""
        return len(self._cursor)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        order, share = self._begin()
        mix = self._settings
        options = pipeline_options(
            self.dataset,
            self.dataset.counters,
            seed=self._seed,
            threads=1,
            prefetch_bytes=self._prefetch_bytes,
            fidelity=lambda record: mix.mix.choose(seed=self._seed, epoch=order.epoch, record=record),
        )
        pipeline = Pipeline(options, order, share, range(count_batches(share)))
        try:
            for steps, batch in enumerate(pipeline, start=1):
                self._present = (order, share, steps)
                yield to_tensors(batch, self.dataset)
        finally:
            pipeline.close()
        self._cursor.restart()  # a resumed iteration was shorter; the next one is whole

    def _begin(self) -> tuple[EpochOrder, Share]:
        """Order and share of this worker for the iteration that begins."""
        worker = _worker()
        if self._resumed is None:
            self._cursor.begin_epoch(self._settings.epoch)
        if self._varies and self._settings.count_in_epoch(1) > (worker[1] if worker else 1):
            warnings.warn(
                f"epoch {self._settings.epoch} is iterated again: its order, crops and flips repeat. "
                "Call set_epoch(epoch) on the IterableDataset before each epoch",
                stacklevel=3,
            )
        share = self._cursor.share
        if self._resumed is not None and self._resumed.worker is not None:
            if worker != self._resumed.worker:
                raise StateError(
                    f"state: it is of worker {self._resumed.worker}, but this is worker {worker}; load it "
                    f"with as many workers, or join the states of all workers with merge_states first"
                )
        elif worker is not None:
            share = share.for_worker(*worker)
        self._resumed = None
        self._present = (self._cursor.order, share, 0)
        return self._cursor.order, share

    @property
    def fidelity(self) -> int | dict[int, float]:
        """What records are read at from now on, in every worker."""
        return describe_fidelity(self._settings.mix)

    @fidelity.setter
    def fidelity(self, value: int | Mapping[int, float] | None) -> None:
        self._settings.mix = fidelity_mix(value, self.dataset.num_levels)

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the next iteration; workers that are kept alive see it too."""
        self._settings.epoch = epoch
        self._cursor.begin_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Progress of this worker (in a worker: what it leaves of its share) as JSON values."""
        if self._present is None:
            return self._cursor.state_dict()
        order, share, steps = self._present
        return State.of(order, share.left_after(steps), _worker()).to_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state; see ``merge_states`` for another number of workers.

        Raises:
            StateError: it belongs to another data set or order.
        """
        loaded = State.from_dict(state)
        if loaded.worker is None:
            self._cursor.load_state_dict(state)
        else:
            self._cursor.resume(loaded)
        self._settings.epoch = self._cursor.epoch
        self._resumed = loaded
        self._present = None


def _worker() -> tuple[int, int] | None:
    info = get_worker_info()
    return None if info is None else (info.id, info.num_workers)
