"""Ready batches by threads of the training process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from halfbyte.errors import StateError
from halfbyte.keyed.hashes import check_seed
from halfbyte.loader.counters import Counters
from halfbyte.loader.cursor import Cursor
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.decoding import Pixels
from halfbyte.loader.fidelity import Fidelity, FidelityPolicy, Moment, describe_fidelity, fidelity_mix
from halfbyte.loader.pipeline import Pipeline
from halfbyte.loader.torch.batches import (
    DEFAULT_PREFETCH_BYTES,
    pipeline_options,
    require_crop,
    to_tensors,
)

__all__ = ["Loader"]


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
            time: it holds from the next record read on. Or a policy of ``halfbyte.tuning``, which chooses
            while training goes on, and is part of the state.
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
        fidelity: Fidelity | FidelityPolicy = None,
        seed: int | None = None,
        window: int | None = 4,
        drop_last: bool = False,
        num_threads: int | None = None,
        prefetch_bytes: int = DEFAULT_PREFETCH_BYTES,
        pin_memory: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        require_crop(dataset)
        self.dataset = dataset
        self.counters = Counters()
        self.policy: FidelityPolicy | None = None
        if isinstance(fidelity, FidelityPolicy):
            fidelity.begin(dataset)
            self.policy, fidelity = fidelity, None
        self._mix = dataset.settings.mix if fidelity is None else fidelity_mix(fidelity, dataset.num_levels)
        self._seconds = 0.0
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
            rank=rank,
            world_size=world_size,
        )
        self._pipeline: Pipeline | None = None

    def __len__(self) -> int:
        """Batches in what is left of the present epoch, on this rank."""
        return len(self._cursor)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.close()
        cursor = self._cursor
        cursor.steps_taken = 0
        started = time.perf_counter() - self._seconds
        self._ask_policy()
        order = cursor.order
        options = pipeline_options(
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
                self._seconds = time.perf_counter() - started
                if cursor.steps_taken < len(cursor.share):  # as on ranks that have one batch more
                    self._ask_policy()
        finally:
            pipeline.close()
        cursor.end_epoch()

    def _ask_policy(self) -> None:
        if self.policy is not None:
            self.fidelity = self.policy.choose(self.moment)

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
    def moment(self) -> Moment:
        """What reading has cost up to now."""
        return Moment(self._cursor.epoch, self._seconds, self.counters.to_dict())

    @property
    def epoch(self) -> int:
        """The present epoch; the next one once an iteration has ended."""
        return self._cursor.epoch

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; the present one, even partly done, is left as it is."""
        self._cursor.begin_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Progress as JSON values: the same on every rank, as ranks step together, but for the history of a
        policy, which tells what this rank has read.
        """
        state = self._cursor.state_dict()
        return state if self.policy is None else {**state, "policy": self.policy.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state, on any number of ranks and with any batch size.

        Raises:
            StateError: it belongs to another data set or order, or holds the state of a policy and there is
                none here.
        """
        self.close()
        progress = {name: value for name, value in state.items() if name != "policy"}
        if "policy" in state and self.policy is None:
            raise StateError(
                "state: it holds the state of a fidelity policy, but this Loader has none; give it the same "
                "policy as fidelity="
            )
        self._cursor.load_state_dict(progress)
        if self.policy is not None and "policy" in state:
            self.policy.load_state_dict(state["policy"])


def _pinned(shape: tuple[int, ...], dtype: type[np.uint8] | type[np.float32]) -> Pixels:
    kind = torch.uint8 if dtype is np.uint8 else torch.float32
    pixels: Pixels = torch.empty(shape, dtype=kind, pin_memory=True).numpy()
    return pixels
