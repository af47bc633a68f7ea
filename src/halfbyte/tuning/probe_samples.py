"""Samples for a probe: drawn by hashes, read once, decoded at any fidelity in the same views."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfbyte.errors import HalfbyteError
from halfbyte.keyed.bijection import Bijection
from halfbyte.keyed.hashes import Stream, derive_key
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.decoding import BatchDecoder
from halfbyte.loader.failures import FailedSample, leave_out
from halfbyte.loader.pipeline import Batch
from halfbyte.loader.torch.batches import to_tensors
from halfbyte.records.record_set import StoredSample

__all__ = ["ProbeSamples", "draw_numbers"]

_READ_THREADS = 8  # samples of a probe lie anywhere: what counts is how many requests are under way


def draw_numbers(
    count: int, size: int, *, seed: int, epoch: int, probe: int, rank: int = 0, world_size: int = 1
) -> NDArray[np.int64]:
    """Numbers of the samples that one rank probes with: a pure function.

    Args:
        count: samples a rank.
        size: samples of the data set, at least 1.
        seed, epoch, probe: other numbers, other samples.
        rank, world_size: ranks get different samples.

    Returns:
        int64 (count,), in [0, size); no sample twice over all ranks, unless there are fewer than asked for.
    """
    order = Bijection(derive_key(seed, epoch, Stream.PROBE, probe), size)
    places = rank * count + np.arange(count)
    if world_size * count > size:
        places %= size
    return order.forward(places)


@dataclass(frozen=True)
class ProbeSamples:
    """Batches of stored samples, held at full fidelity as they were read.

    Attributes:
        dataset: what they are of.
        decoder: makes pixels by the data set's transform.
        epoch: that views are drawn for; with a sample's number it says crop and flip, whatever the fidelity.
        batches: lists of samples; the last may be shorter.
    """

    dataset: Dataset
    decoder: BatchDecoder
    epoch: int
    batches: list[list[StoredSample]]

    @classmethod
    def read(
        cls, dataset: Dataset, numbers: NDArray[np.int64], *, batch_size: int, epoch: int
    ) -> ProbeSamples:
        """Read samples in full; reads are counted in ``dataset.counters``.

        Raises:
            HalfbyteError, OSError: a sample failed and the data set's ``on_error`` is "raise".
            ValueError: ``on_error`` left out all of them.
        """
        decoder = dataset.decoder(threads=len(os.sched_getaffinity(0)), counters=dataset.counters)
        with ThreadPoolExecutor(_READ_THREADS) as pool:
            read = pool.map(lambda number: _read(dataset, int(number)), numbers)
            samples = [sample for sample in read if sample is not None]
        if decoder.on_error != "raise":
            # What fails in full must be missing at every fidelity, and nothing else may be.
            _, kept = decoder.batch(samples, epoch)
            samples = [samples[i] for i in kept]
            decoder.on_error = "raise"
        if not samples:
            raise ValueError("none of the samples drawn for a probe can be read; run halfbyte verify")
        starts = range(0, len(samples), batch_size)
        return cls(dataset, decoder, epoch, [samples[i : i + batch_size] for i in starts])

    def split(self, count: int) -> tuple[ProbeSamples, ProbeSamples]:
        """The first batches, and the rest."""
        return replace(self, batches=self.batches[:count]), replace(self, batches=self.batches[count:])

    def at(self, fidelity: int) -> Iterator[dict[str, Any]]:
        """The batches as a loader at this fidelity gives them."""
        for whole in self.batches:
            samples = [replace(sample, slices=sample.slices[:fidelity]) for sample in whole]
            pixels, _ = self.decoder.batch(samples, self.epoch)
            yield to_tensors(Batch(pixels, samples), self.dataset)


def _read(dataset: Dataset, number: int) -> StoredSample | None:
    try:
        return dataset.records.sample(number)
    except (HalfbyteError, OSError) as error:
        record, index = dataset.records.locate(number)
        leave_out(FailedSample(number, record, index, "", error), dataset.on_error, dataset.counters)
        return None
