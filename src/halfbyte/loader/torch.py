"""The two doors that need torch: ``Loader`` (threads) and ``IterableDataset`` (DataLoader workers)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset as TorchIterableDataset
from torch.utils.data import get_worker_info

from halfbyte.errors import StateError
from halfbyte.loader.counters import Counters
from halfbyte.loader.cursor import Cursor, count_batches
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.decoding import Pixels
from halfbyte.loader.fidelity import Fidelity, describe_fidelity, fidelity_mix
from halfbyte.loader.keyed import check_seed
from halfbyte.loader.order import EpochOrder
from halfbyte.loader.pipeline import Batch, Pipeline, PipelineOptions
from halfbyte.loader.progress import State
from halfbyte.loader.share import Share
from halfbyte.loader.shared import SharedSettings
from halfbyte.loader.topology import find_topology

__all__ = ["IterableDataset", "Loader"]

_DEFAULT_PREFETCH_BYTES = 256 << 20


class Loader:
    """Ready batches of torch tensors, read and decoded ahead by threads: the fastest door.

    Iterating gives one epoch; each iteration that ends goes on to the next epoch by itself. A batch is a
    dict: ``"image"``, a tensor (B, C, H, W) of uint8 or float32 as the data set's transform says, and the
    fields: int64, float64 or bool tensors (B,), anything else lists.

    Args:
        dataset: what :func:`halfbyte.open` returned; its transform must have a crop.
        batch_size: samples a batch and rank.
        shuffle: False for the stored order.
        fidelity: k, or a mixture ``{k: weight}``; None takes the data set's. Set ``loader.fidelity`` at any
            time: it holds from the next record read on.
        seed: of order, crops and mixtures; None takes the data set's.
        window: records mixed with each other; None mixes all (and holds them all).
        drop_last: leave out batches that are not full.
        num_threads: native decoding threads; None for as many as there are cores.
        prefetch_bytes: bytes of records read ahead. What a batch needs at once is read regardless.
        pin_memory: put images into page-locked memory, for fast copies to a GPU.
        rank, world_size: found from torch.distributed or torchrun if not given.

    Raises:
        ValueError: an option is out of range.

    Example::

        view = halfbyte.Transform(halfbyte.RandomResizedCrop(224), flip=0.5)
        ds = halfbyte.open("photos.halfbyte", transform=view)
        loader = halfbyte.Loader(ds, batch_size=64, fidelity=5)
        for epoch in range(10):
            for batch in loader:
                step(batch["image"], batch["label"])
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
        num_threads: int | None = None,
        prefetch_bytes: int = _DEFAULT_PREFETCH_BYTES,
        pin_memory: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        _require_crop(dataset)
        self.dataset = dataset
        self.counters = Counters()
        self._mix = dataset.settings.mix if fidelity is None else fidelity_mix(fidelity, dataset.num_levels)
        self._seed = dataset.seed if seed is None else check_seed(seed)
        self._threads = num_threads or len(os.sched_getaffinity(0))
        self._prefetch_bytes = prefetch_bytes
        self._pin_memory = pin_memory
        self._cursor = Cursor(
            dataset.records.index.num_samples,
            batch_size=batch_size,
            seed=self._seed,
            shuffle=shuffle,
            window=window,
            drop_last=drop_last,
            topology=find_topology(rank=rank, world_size=world_size),
        )
        self._pipeline: Pipeline | None = None

    def __len__(self) -> int:
        """Batches in what is left of the present epoch, on this rank."""
        return len(self._cursor)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.close()
        cursor = self._cursor
        cursor.steps_taken = 0
        order = cursor.order
        options = _options(
            self.dataset,
            self.counters,
            seed=self._seed,
            threads=self._threads,
            prefetch_bytes=self._prefetch_bytes,
            fidelity=lambda record: self._mix.choose(seed=self._seed, epoch=order.epoch, record=record),
        )
        if self._pin_memory:
            options.decoder.allocate = _pinned
        pipeline = self._pipeline = Pipeline(options, order, cursor.share, range(len(cursor)))
        try:
            for batch in pipeline:
                cursor.steps_taken += 1
                yield to_tensors(batch, self.dataset)
        finally:
            pipeline.close()
        cursor.end_epoch()

    def close(self) -> None:
        """End the threads of an iteration that was left early; the next iteration would do it too."""
        if self._pipeline is not None:
            self._pipeline.close()
            self._pipeline = None

    @property
    def fidelity(self) -> int | dict[int, float]:
        """What records are read at from now on."""
        return describe_fidelity(self._mix)

    @fidelity.setter
    def fidelity(self, value: int | Mapping[int, float] | None) -> None:
        self._mix = fidelity_mix(value, self.dataset.num_levels)

    @property
    def epoch(self) -> int:
        """The present epoch; the next one once an iteration has ended."""
        return self._cursor.epoch

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; the present one, even partly done, is left as it is."""
        self._cursor.begin_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Progress as JSON values: the same on every rank, as ranks step together."""
        return self._cursor.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state, on any number of ranks and with any batch size.

        Raises:
            StateError: it belongs to another data set or order.
        """
        self.close()
        self._cursor.load_state_dict(state)


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
        prefetch_bytes: int = _DEFAULT_PREFETCH_BYTES,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        _require_crop(dataset)
        self.dataset = dataset
        self._seed = dataset.seed if seed is None else check_seed(seed)
        self._prefetch_bytes = prefetch_bytes
        mix = dataset.settings.mix if fidelity is None else fidelity_mix(fidelity, dataset.num_levels)
        self._settings = SharedSettings(mix)
        self._cursor = Cursor(
            dataset.records.index.num_samples,
            batch_size=batch_size,
            seed=self._seed,
            shuffle=shuffle,
            window=window,
            drop_last=drop_last,
            # Found here, in the training process: a spawned worker has no process group.
            topology=find_topology(rank=rank, world_size=world_size),
        )
        self._resumed: State | None = None
        self._present: tuple[EpochOrder, Share, int] | None = None

    def __len__(self) -> int:
        """Batches of this rank in the present epoch, over all its workers."""
        return len(self._cursor)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        order, share = self._begin()
        mix = self._settings
        options = _options(
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
        if self._resumed is None:
            self._cursor.begin_epoch(self._settings.epoch)
        worker = _worker()
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


def to_tensors(batch: Batch, dataset: Dataset) -> dict[str, Any]:
    """A batch as torch tensors; values that are not all numbers stay a list."""
    result: dict[str, Any] = {"image": torch.from_numpy(batch.pixels)}
    for name in dataset.fields:
        values = batch.column(name)
        kinds = {type(value) for value in values}
        numbers = len(kinds) == 1 and kinds <= {int, float, bool}
        dtype = torch.float64 if kinds == {float} else None
        result[name] = torch.tensor(values, dtype=dtype) if numbers else values
    return result


def _options(
    dataset: Dataset,
    counters: Counters,
    *,
    seed: int,
    threads: int,
    prefetch_bytes: int,
    fidelity: Callable[[int], int],
) -> PipelineOptions:
    decoder = dataset.decoder(threads=threads, counters=counters)
    decoder.seed = seed
    return PipelineOptions(
        dataset.records.counting(counters.count_read), decoder, fidelity, prefetch_bytes, counters
    )


def _pinned(shape: tuple[int, ...], dtype: type[np.uint8] | type[np.float32]) -> Pixels:
    kind = torch.uint8 if dtype is np.uint8 else torch.float32
    pixels: Pixels = torch.empty(shape, dtype=kind, pin_memory=True).numpy()
    return pixels


def _require_crop(dataset: Dataset) -> None:
    if dataset.transform.output_size is None:
        raise ValueError(
            "the data set's transform has no crop, so its images cannot share a batch; open it with "
            "transform=Transform(RandomResizedCrop(224)) or Transform(CenterCrop(224, resize=256))"
        )


def _worker() -> tuple[int, int] | None:
    info = get_worker_info()
    return None if info is None else (info.id, info.num_workers)
