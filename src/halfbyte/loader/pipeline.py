"""Batches made ahead by threads: fetch records, decode samples, hand over in order."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from halfbyte.errors import HalfbyteError, LoaderError
from halfbyte.loader.counters import Counters
from halfbyte.loader.decoding import BatchDecoder, Pixels
from halfbyte.loader.failures import FailedSample, leave_out
from halfbyte.loader.fetching import FetchPlan, RecordFetcher, plan_fetches
from halfbyte.loader.order import EpochOrder
from halfbyte.loader.share import Share
from halfbyte.records.record_set import RecordSet, StoredSample

__all__ = ["Batch", "Pipeline", "PipelineOptions"]

_FETCH_THREADS = 2
_BUILD_THREADS = 2  # the second fills the native threads while the first waits for its slowest sample
_READY_BATCHES = 2
_JOIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch: pixels, and per field the values of its samples."""

    pixels: Pixels
    samples: list[StoredSample]

    def column(self, name: str) -> list[Any]:
        """Values of a user's field, or of ``_key`` and ``_number``."""
        return [sample.value(name) for sample in self.samples]


@dataclass(frozen=True)
class PipelineOptions:
    """What a pipeline reads and how.

    Attributes:
        records: the data set.
        decoder: makes pixels; also says what happens to failing samples.
        fidelity: called with a record's number when its turn to be read comes.
        prefetch_bytes: bytes of records read ahead.
        counters: stall seconds and samples are added here.
    """

    records: RecordSet
    decoder: BatchDecoder
    fidelity: Callable[[int], int]
    prefetch_bytes: int
    counters: Counters


class Pipeline(Iterator[Batch]):
    """Iterates the batches of some steps of a share; its threads end with it, however it ends."""

    def __init__(
        self, options: PipelineOptions, order: EpochOrder, share: Share, steps: Sequence[int]
    ) -> None:
        self._counters = options.counters
        self._works = _Works(options, order, share, steps)
        self._stop = weakref.finalize(self, self._works.stop)
        self._works.start()

    def __next__(self) -> Batch:
        started = time.perf_counter()
        try:
            batch = self._works.take()
        except BaseException:
            self.close()
            raise
        finally:
            self._counters.add(stall_seconds=time.perf_counter() - started)
        if batch is None:
            self.close()
            raise StopIteration
        self._counters.add(samples=len(batch.samples))
        return batch

    def close(self) -> None:
        """End the threads; what they were reading or decoding is thrown away."""
        self._stop()


class _Works:
    """The threads and what they share. Holds no reference to the pipeline, so that dropping it ends them."""

    def __init__(
        self, options: PipelineOptions, order: EpochOrder, share: Share, steps: Sequence[int]
    ) -> None:
        self._options = options
        self._epoch = order.epoch
        self._total = len(steps)
        self._fetcher = RecordFetcher(
            options.records,
            fidelity=options.fidelity,
            budget_bytes=options.prefetch_bytes,
            salvage=options.decoder.on_error != "raise",
        )
        self._located = chain.from_iterable(
            plan.steps for plan in self._look_ahead(plan_fetches(order, share, steps))
        )
        self._changed = threading.Condition()
        self._planning = threading.Lock()
        self._building = 0  # the next step to build
        self._taken = 0  # the next step to hand over
        self._ready: dict[int, Batch] = {}
        self._error: BaseException | None = None
        self._stopped = False
        bodies = [self._fetcher.run] * _FETCH_THREADS + [self._build_all] * _BUILD_THREADS
        self._threads = [
            threading.Thread(target=self._guard, args=(body,), name=f"halfbyte-{i}", daemon=True)
            for i, body in enumerate(bodies)
        ]

    def _look_ahead(self, plans: Iterator[FetchPlan]) -> Iterator[FetchPlan]:
        """Each plan, once the fetcher also knows the next: records that both need are read once."""
        last: FetchPlan | None = None
        for plan in plans:
            self._fetcher.plan(plan.records, plan.uses)
            if last is not None:
                yield last
            last = plan
        if last is not None:
            yield last

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._ready.clear()
            self._changed.notify_all()
        self._fetcher.close()
        # A store that hangs must not hang Ctrl-C too: its thread is a daemon and holds nothing on disk.
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread in self._threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def take(self) -> Batch | None:
        """The next batch in order, None after the last."""
        with self._changed:
            if self._taken == self._total:
                return None
            self._changed.wait_for(lambda: self._taken in self._ready or self._error or self._stopped)
            if self._taken not in self._ready:
                raise self._error or RuntimeError("the pipeline was closed")
            batch = self._ready.pop(self._taken)
            self._taken += 1
            self._changed.notify_all()
            return batch

    def _guard(self, body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as error:
            self._fail(error)

    def _build_all(self) -> None:
        while (claimed := self._claim()) is not None:
            step, located = claimed
            batch = self._build(*located)
            with self._changed:
                self._ready[step] = batch
                self._changed.notify_all()

    def _claim(self) -> tuple[int, Any] | None:
        """The next step and where its samples lie, once there is room for another batch."""
        with self._planning:
            with self._changed:
                limit = _READY_BATCHES + _BUILD_THREADS
                self._changed.wait_for(
                    lambda: self._stopped or self._error or self._building < self._taken + limit
                )
                if self._stopped or self._error or self._building == self._total:
                    return None
                step = self._building
                self._building += 1
            return step, next(self._located)

    def _build(self, records: Any, indices: Any) -> Batch:
        samples = []
        uses: dict[int, int] = {}
        for record, index in zip(records.tolist(), indices.tolist(), strict=True):
            uses[record] = uses.get(record, 0) + 1
            sample = self._sample(record, index)
            if sample is not None:
                samples.append(sample)
        pixels, kept = self._options.decoder.batch(samples, self._epoch)
        for record, count in uses.items():
            self._fetcher.release(record, count)
        return Batch(pixels, [samples[i] for i in kept])

    def _sample(self, record: int, index: int) -> StoredSample | None:
        fetched = self._fetcher.get(record)
        records = self._options.records
        if fetched.record is not None and index not in fetched.damaged:
            return records.stored(record, index, fetched.record.table, fetched.record.slices(index))
        key = fetched.record.table.keys[index].as_py() if fetched.record is not None else ""
        number = int(records.index.starts[record]) + index
        failed = FailedSample(number, record, index, key, fetched.damaged[index])
        leave_out(failed, self._options.decoder.on_error, self._options.counters)
        return None

    def _fail(self, error: BaseException) -> None:
        if not isinstance(error, HalfbyteError):
            wrapped = LoaderError(
                f"a loading thread failed with {type(error).__name__}: {error}; "
                f"see the cause above; on_error='skip' leaves failing samples out"
            )
            wrapped.__cause__ = error
            error = wrapped
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()
        self._fetcher.close(error)
