"""What a data set's link, this machine's cores and the Loader do, each measured for some seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np

from halfbyte.errors import HalfbyteError
from halfbyte.format.index import record_name
from halfbyte.loader.counters import Counters
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.decoding import BatchDecoder
from halfbyte.loader.torch.loader import Loader
from halfbyte.records.record_set import RecordSet, StoredSample
from halfbyte.tuning.measured import Measured

__all__ = ["Link", "Trial", "decoding", "link", "seconds_to_start", "trial"]

_PARTS = 4  # of a measurement, whose differences are its spread
_READERS = 2  # as many as the Loader has
_SMALLEST_READ = 1 << 16
_MOST_REQUESTS = 32
_SAMPLES = 96  # that are decoded, again and again
_FROM_RECORDS = 6


@dataclass(frozen=True)
class Link:
    """What the store brings.

    Attributes:
        bandwidth: bytes a second, with as many requests at once as the Loader makes; counted in requests.
        latency: seconds of a request for one byte; counted in requests.
        request_bytes: of each request that bandwidth was measured with.
    """

    bandwidth: Measured
    latency: Measured
    request_bytes: int


@dataclass(frozen=True)
class Trial:
    """What a Loader gave.

    Attributes:
        images_per_s: delivered, the time of the model included.
        waiting: share of the time that the model would have waited, in [0, 1].
        images: delivered while it was measured.
    """

    images_per_s: float
    waiting: float
    images: int


def link(records: RecordSet, seconds: float) -> Link:
    """Read for some seconds.

    Requests are for whole records as far as that fits into the time, and for their beginnings otherwise.
    """
    deadline = time.perf_counter() + seconds / 5
    latencies = [_timed(records, number, 1) for number in _some(_filled(records), _MOST_REQUESTS, deadline)]
    part = 0.8 * seconds / _PARTS
    size = _request_size(records, part / 4)
    values, requests = [], 0
    for _ in range(_PARTS):
        counters = _read_for(records, size, part)
        values.append(counters.bytes_read / counters.read_seconds)
        requests += counters.reads
    return Link(Measured.over(values, requests), Measured.over(latencies, len(latencies)), size)


def _filled(records: RecordSet) -> list[int]:
    """Numbers of the records that hold samples, in an order that jumps about."""
    filled = np.flatnonzero(records.index.num_samples > 0)
    return [int(number) for number in np.random.default_rng(0).permutation(filled)]


def _some(numbers: Sequence[int], most: int, deadline: float) -> Iterator[int]:
    """At least one, at most so many, and none after the deadline."""
    for count, number in enumerate(cycle(numbers)):
        if count == most or (count and time.perf_counter() > deadline):
            return
        yield number


def _timed(records: RecordSet, number: int, size: int) -> float:
    started = time.perf_counter()
    records.store.read(record_name(number), 0, size)
    return time.perf_counter() - started


def _request_size(records: RecordSet, seconds: float) -> int:
    """The largest record, or less where that takes longer than these seconds."""
    largest = int(records.index.ends[:, -2:-1].max())
    numbers = cycle(_filled(records))
    size = min(_SMALLEST_READ, largest)
    while size < largest and _timed(records, next(numbers), size) < seconds / 2:
        size = min(2 * size, largest)
    return size


def _read_for(records: RecordSet, size: int, seconds: float) -> Counters:
    counters = Counters()
    stop = threading.Event()
    deadline = time.perf_counter() + seconds
    numbers = cycle(_filled(records))
    taking = threading.Lock()

    def read() -> None:
        while not stop.is_set():
            with taking:
                number = next(numbers)
            counters.begin_read()
            got = 0
            try:
                got = len(records.store.read(record_name(number), 0, size))
            finally:
                counters.end_read(got)
            if time.perf_counter() > deadline:
                return

    with ThreadPoolExecutor(_READERS) as pool:
        try:
            for reader in [pool.submit(read) for _ in range(_READERS)]:
                reader.result()
        finally:
            stop.set()
    return counters


def decoding(dataset: Dataset, seconds: float, threads: int) -> dict[int, Measured]:
    """Seconds a sample that so many threads need to decode each fidelity, on a sample of images in memory.

    Raises:
        HalfbyteError: none of them can be decoded.
    """
    samples = _samples(dataset)
    decoder = dataset.decoder(threads=threads, counters=Counters())
    result = {}
    for k in range(1, dataset.num_levels + 1):
        at_k = [replace(sample, slices=sample.slices[:k]) for sample in samples]
        result[k] = _decode_for(decoder, at_k, seconds / dataset.num_levels)
    return result


def _samples(dataset: Dataset) -> list[StoredSample]:
    records = dataset.records
    numbers: list[int] = []
    chosen = _filled(records)[:_FROM_RECORDS]
    for record in chosen:
        first, count = int(records.index.starts[record]), int(records.index.num_samples[record])
        numbers += range(first, first + min(count, _SAMPLES // len(chosen)))
    return [records.sample(number) for number in numbers]


def _decode_for(decoder: BatchDecoder, samples: Sequence[StoredSample], seconds: float) -> Measured:
    count = len(decoder.batch(samples, 0)[1])  # the first time allocates
    if count == 0:
        raise HalfbyteError(
            "no image of the sample could be decoded; `halfbyte verify` names what is damaged"
        )
    values: list[float] = []
    deadline = time.perf_counter() + seconds
    while not values or time.perf_counter() < deadline:
        started = time.perf_counter()
        decoder.batch(samples, 0)
        values.append((time.perf_counter() - started) / count)
    return Measured.over(values, count * len(values))


def seconds_to_start(dataset: Dataset, k: int, bandwidth: float) -> float:
    """How long the two largest records take through the link: what a trial must wait for at least."""
    return 2 * float(dataset.records.index.ends[:, k].max()) / bandwidth


def trial(
    dataset: Dataset, k: int, *, seconds: float, batch_size: int, threads: int, step: float | None
) -> Trial:
    """Take batches from a Loader for some seconds; a model of ``step`` seconds a sample sleeps for each."""
    loader = Loader(dataset, batch_size=batch_size, fidelity=k, window=1, num_threads=threads)
    deadline = time.perf_counter() + seconds
    begun: float | None = None
    try:
        while True:
            for batch in loader:
                time.sleep((step or 0.0) * len(batch["image"]))
                now = time.perf_counter()
                if begun is None:  # what came before was the start
                    begun = now
                    loader.counters.reset()
                elif now > deadline:
                    counters = loader.counters
                    waiting = min(1.0, counters.stall_seconds / (now - begun))
                    return Trial(counters.samples / (now - begun), waiting, counters.samples)
    finally:
        loader.close()
