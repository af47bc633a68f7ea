"""The threads that turn a plan into records.

Memory is bounded by design: at most ``_IN_FLIGHT`` records are between reading and disk, each as large as the
plan made it, and every worker holds one image more while it transcodes it.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from halfbyte.conversion.encode import Converted, Encoding, Refused, convert_file
from halfbyte.conversion.journal import Journal, Outcome
from halfbyte.conversion.plan import Plan
from halfbyte.conversion.sources import Sources
from halfbyte.errors import ConvertError
from halfbyte.format.index import record_name
from halfbyte.format.sample_table import CODEC_NAMES
from halfbyte.records.progress import Progress, ProgressCallback
from halfbyte.records.writer import encode_record
from halfbyte.storage.local import write_atomically

__all__ = ["Engine", "OnError"]

OnError = Literal["report", "fail", "skip"]

# One record is being written while the next is encoded and a third keeps the workers busy.
_IN_FLIGHT = 3
# Sources a task: few enough to share a record among many workers, enough to make tasks cheap.
_CHUNK = 8
_TICK_SECONDS = 0.1


@dataclass
class Engine:
    """Encodes records and writes them; each is on the disk, with its outcome, before it counts as done.

    Attributes:
        sources, plan, encoding: what to do.
        journal: of the output folder.
        dataset_id: 16 bytes.
        workers: threads that encode; one more writes.
        on_error: "fail" raises ConvertError at the first file refused.
        progress: called from the calling thread, now and then.
    """

    sources: Sources
    plan: Plan
    encoding: Encoding
    journal: Journal
    dataset_id: bytes
    workers: int
    on_error: OnError = "report"
    progress: ProgressCallback | None = None
    done_bytes: int = 0
    done_samples: int = 0
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _failure: ConvertError | None = field(default=None, init=False)

    def run(self, numbers: Iterable[int]) -> dict[int, Outcome]:
        """Make these records and say what became of their sources.

        Whatever ends it early (an error, Ctrl-C) ends the threads first, after the image that each is busy
        with.
        """
        outcomes: dict[int, Outcome] = {}
        flying: deque[tuple[int, Future[Outcome]]] = deque()
        with (
            ThreadPoolExecutor(self.workers, "halfbyte-convert") as pool,
            ThreadPoolExecutor(1, "halfbyte-write") as writer,
        ):
            try:
                for number in numbers:
                    if len(flying) >= _IN_FLIGHT:
                        self._land(flying, outcomes)
                    chunks = [pool.submit(self._convert, part) for part in self._split(number)]
                    flying.append((number, writer.submit(self._write, number, chunks)))
                while flying:
                    self._land(flying, outcomes)
                self._tell()
            except BaseException as error:
                self._stop.set()
                for executor in (pool, writer):
                    executor.shutdown(wait=False, cancel_futures=True)
                if isinstance(error, CancelledError) and self._failure is not None:
                    raise self._failure from None
                raise
        return outcomes

    def count_done(self, number: int) -> None:
        """Count a record of an earlier run as progress."""
        self._count(self.plan.record(number))

    def _count(self, indices: npt.NDArray[np.int64]) -> None:
        with self._lock:
            self.done_bytes += int(self.sources.sizes[indices].sum())
            self.done_samples += len(indices)

    def _split(self, number: int) -> list[npt.NDArray[np.int64]]:
        indices = self.plan.record(number)
        return [indices[start : start + _CHUNK] for start in range(0, len(indices), _CHUNK)]

    def _land(self, flying: deque[tuple[int, Future[Outcome]]], outcomes: dict[int, Outcome]) -> None:
        number, future = flying.popleft()
        while not future.done():
            wait([future], timeout=_TICK_SECONDS)
            self._tell()
        outcomes[number] = future.result()

    def _tell(self) -> None:
        if self.progress is not None:
            total = int(self.sources.sizes.sum())
            self.progress(Progress(self.done_bytes, total, self.done_samples, len(self.sources)))

    def _convert(self, indices: npt.NDArray[np.int64]) -> list[Converted | Refused]:
        results: list[Converted | Refused] = []
        for position, fields in enumerate(self.sources.rows(indices)):
            if self._stop.is_set():
                raise CancelledError
            result = convert_file(self.sources[int(indices[position])], fields, self.encoding)
            if isinstance(result, Refused) and self.on_error == "fail":
                self._fail(result)
            results.append(result)
            self._count(indices[position : position + 1])
        return results

    def _fail(self, refused: Refused) -> None:
        error = ConvertError(
            f"{refused.key}: {refused.reason}; mend or remove the file, or convert with on_error='report' "
            "(finish and list it) or 'skip'"
        )
        with self._lock:
            self._failure = self._failure or error
        self._stop.set()
        raise error

    def _write(self, number: int, chunks: Sequence[Future[list[Converted | Refused]]]) -> Outcome:
        results = [result for chunk in chunks for result in chunk.result()]
        converted = [result for result in results if isinstance(result, Converted)]
        record = encode_record(
            [result.sample for result in converted],
            schema=self.sources.schema,
            num_levels=self.encoding.script.levels,
            dataset_id=self.dataset_id,
        )
        write_atomically(self.journal.out / record_name(number), record.parts)
        outcome = Outcome(
            row=record.row,
            codecs=_count_by(CODEC_NAMES[result.sample.codec] for result in converted),
            source_bytes=sum(result.sample.source_bytes for result in converted),
            written=sum(result.how == "written" for result in converted),
            passthrough=_count_by(result.reason for result in converted if result.how == "passthrough"),
            encoded=_count_by(result.reason for result in converted if result.how == "encoded"),
            stored_jpegs=tuple((result.sample.key, result.detail) for result in converted if result.detail),
            refused=tuple((result.key, result.reason) for result in results if isinstance(result, Refused)),
        )
        self.journal.finish_record(number, outcome)
        return outcome


def _count_by(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
