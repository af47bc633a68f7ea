"""Records read ahead of their use, within a budget of bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from halfbyte.errors import CorruptRecord, HalfbyteError, LoaderError
from halfbyte.loader.order import EpochOrder
from halfbyte.loader.share import Share
from halfbyte.records.record import Record
from halfbyte.records.record_set import RecordSet

__all__ = ["FetchPlan", "Fetched", "RecordFetcher", "plan_fetches"]

_SAMPLES_A_PLAN = 1 << 16


@dataclass(frozen=True, slots=True)
class Fetched:
    """A record at hand; ``damaged`` maps samples that cannot be used to the reason.

    ``record`` is None where the whole record cannot be used; the reason is then under every sample.
    """

    record: Record | None
    damaged: dict[int, Exception]


@dataclass(frozen=True)
class FetchPlan:
    """Which records a run of batches needs.

    Attributes:
        steps: for each step the records and indices of its samples, int64 (batch,) each.
        records: the records in the order of their first use.
        uses: how many samples of each are used, aligned with ``records``.
    """

    steps: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
    records: list[int]
    uses: list[int]


def plan_fetches(order: EpochOrder, share: Share, steps: Sequence[int]) -> Iterator[FetchPlan]:
    """Plans for consecutive runs of steps, so that an epoch of any length costs bounded memory."""
    run = max(1, _SAMPLES_A_PLAN // share.batch_size)
    for start in range(0, len(steps), run):
        located = [order.locate(share.batch(step)) for step in steps[start : start + run]]
        every = np.concatenate([records for records, _ in located])
        unique, first, counts = np.unique(every, return_index=True, return_counts=True)
        by_use = np.argsort(first)
        yield FetchPlan(located, unique[by_use].tolist(), counts[by_use].tolist())


@dataclass
class _Slot:
    """A record between being planned and being used up."""

    number: int
    uses_left: int
    fidelity: int = 0
    size: int = 0
    fetched: Fetched | None = None
    wanted: bool = False
    started: bool = False


class RecordFetcher:
    """Reads records in the order of their first use, from several threads, and drops them once used up.

    Args:
        records: the data set.
        fidelity: called with a record's number when its turn comes.
        budget_bytes: what may be held at once; a record that a batch already waits for is read regardless.
        salvage: on a damaged section, keep the samples whose own checksums are right.
    """

    def __init__(
        self, records: RecordSet, *, fidelity: Callable[[int], int], budget_bytes: int, salvage: bool
    ) -> None:
        self._records, self._fidelity = records, fidelity
        self._budget, self._salvage = budget_bytes, salvage
        self._slots: dict[int, _Slot] = {}
        self._queue: list[_Slot] = []
        self._next = 0
        self._held = 0
        self._closed = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def plan(self, records: Sequence[int], uses: Sequence[int]) -> None:
        """Add records to be read; those still at hand only gain uses."""
        with self._changed:
            del self._queue[: self._next]
            self._next = 0
            for number, count in zip(records, uses, strict=True):
                if number in self._slots:
                    self._slots[number].uses_left += count
                else:
                    slot = self._slots[number] = _Slot(number, count)
                    self._queue.append(slot)
            self._changed.notify_all()

    def get(self, number: int) -> Fetched:
        """Wait for a record."""
        with self._changed:
            slot = self._slots[number]
            if not slot.started:
                slot.wanted = True
                self._changed.notify_all()
            self._changed.wait_for(lambda: slot.fetched is not None or self._closed)
            if slot.fetched is None:
                raise self._error or RuntimeError("the fetcher was closed")
            return slot.fetched

    def release(self, number: int, uses: int) -> None:
        """Say that so many samples of a record were used; after the last the record is dropped."""
        with self._changed:
            slot = self._slots[number]
            slot.uses_left -= uses
            if slot.uses_left == 0:
                del self._slots[number]
                self._held -= slot.size
                self._changed.notify_all()

    def close(self, error: BaseException | None = None) -> None:
        """Wake everybody; reading stops after the records now on their way."""
        with self._changed:
            self._closed = True
            self._error = self._error or error
            self._slots = {}
            self._queue = []
            self._changed.notify_all()

    def run(self) -> None:
        """Read until closed: the body of a fetching thread."""
        while (slot := self._take()) is not None:
            fetched = self._fetch(slot.number, slot.fidelity)
            with self._changed:
                slot.fetched = fetched
                self._changed.notify_all()

    def _take(self) -> _Slot | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._ready())
            if self._closed:
                return None
            slot = self._queue[self._next]
            self._next += 1
            slot.started = True
            slot.fidelity, slot.size = self._cost(slot)
            self._held += slot.size
            return slot

    def _ready(self) -> bool:
        if self._next >= len(self._queue):
            return False
        slot = self._queue[self._next]
        _, size = self._cost(slot)
        if self._held == 0 or self._held + size <= self._budget:
            return True
        return any(waiting.wanted for waiting in islice(self._queue, self._next, None))

    def _cost(self, slot: _Slot) -> tuple[int, int]:
        fidelity = self._fidelity(slot.number)
        return fidelity, int(self._records.index.ends[slot.number, fidelity])

    def _fetch(self, number: int, fidelity: int) -> Fetched:
        try:
            return Fetched(self._records.record(number, fidelity), {})
        except HalfbyteError as error:
            if self._salvage and isinstance(error, CorruptRecord):
                return self._rescue(number, fidelity, error)
            return self._lost(number, error)
        except OSError as error:
            failure = LoaderError(
                f"{self._records.where(number)}: cannot be read ({error}); check the disk or the link to it"
            )
            failure.__cause__ = error
            return self._lost(number, failure)

    def _lost(self, number: int, error: Exception) -> Fetched:
        return Fetched(None, dict.fromkeys(range(int(self._records.index.num_samples[number])), error))

    def _rescue(self, number: int, fidelity: int, error: Exception) -> Fetched:
        try:
            record, damaged = self._records.salvage(number, fidelity)
        except (HalfbyteError, OSError):
            return self._lost(number, error)
        return Fetched(record, damaged)
