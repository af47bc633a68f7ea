"""What reading cost: the numbers that tuning and reports are made from."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from multiprocessing.context import get_spawning_popen
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np

from halfbyte.storage.fork_lock import ForkLock

__all__ = ["Counters"]

_INTEGERS = ("bytes_read", "reads", "decoded", "decoded_bytes", "samples", "errors")
_SECONDS = ("read_seconds", "decode_seconds", "stall_seconds")
_NAMES = (*_INTEGERS, *_SECONDS)
_SLOTS = 1024


class Counters:
    """Sums since creation or the last reset, over all threads and all DataLoader workers.

    Seconds of reading and decoding are wall seconds of a process, however many of its threads are at it: so
    ``bytes_read / read_seconds`` is what the link brings, and ``decoded / decode_seconds`` what the cores
    decode, of one process each. They are counted up to the last beginning or end of a read or of a decode.

    They lie in anonymous shared memory, as `SharedSettings` do. Nothing is locked between processes: each
    adds in a slot of its own, which it finds by its number (modulo 1024), and reading adds up the slots. Any
    other kind of copy (deepcopy, pickle to a file) gets sums of its own.
    """

    def __init__(self) -> None:
        self._join(RawArray("d", _SLOTS * len(_NAMES)))

    @property
    def bytes_read(self) -> int:
        """Bytes that came from the store."""
        return int(self._sum("bytes_read"))

    @property
    def reads(self) -> int:
        """Requests to the store."""
        return int(self._sum("reads"))

    @property
    def read_seconds(self) -> float:
        """Wall seconds during which at least one request was under way."""
        return self._sum("read_seconds")

    @property
    def decoded(self) -> int:
        """Samples decoded, ahead of their delivery."""
        return int(self._sum("decoded"))

    @property
    def decoded_bytes(self) -> int:
        """Bytes of these samples: their slices at the fidelity that they were read at."""
        return int(self._sum("decoded_bytes"))

    @property
    def decode_seconds(self) -> float:
        """Wall seconds during which at least one batch was being decoded."""
        return self._sum("decode_seconds")

    @property
    def stall_seconds(self) -> float:
        """Wall seconds that the consumer waited for a batch; for workers, the sum of what each waited."""
        return self._sum("stall_seconds")

    @property
    def samples(self) -> int:
        """Samples delivered; by workers ahead of their use, as bytes are read."""
        return int(self._sum("samples"))

    @property
    def errors(self) -> int:
        """Samples left out by ``on_error``."""
        return int(self._sum("errors"))

    def add(self, *, stall_seconds: float = 0.0, samples: int = 0, errors: int = 0) -> None:
        """Add to the sums."""
        with self._lock:
            self._add(stall_seconds=stall_seconds, samples=samples, errors=errors)

    def begin_read(self) -> None:
        """A request goes to the store."""
        with self._lock:
            self._add(read_seconds=self._reading.change(1, self._clock()))

    def end_read(self, size: int) -> None:
        """A request came back with ``size`` bytes; 0 if it failed."""
        with self._lock:
            self._add(read_seconds=self._reading.change(-1, self._clock()), bytes_read=size, reads=1)

    def begin_decode(self) -> None:
        """A batch is taken to be decoded."""
        with self._lock:
            self._add(decode_seconds=self._decoding.change(1, self._clock()))

    def end_decode(self, samples: int, size: int) -> None:
        """So many samples of a batch, ``size`` bytes together, were decoded."""
        with self._lock:
            seconds = self._decoding.change(-1, self._clock())
            self._add(decode_seconds=seconds, decoded=samples, decoded_bytes=size)

    def reset(self) -> None:
        """Start again from zero; what is under way counts from now on. Do it between epochs, as a worker may
        be adding just now.
        """
        with self._lock:
            now = self._clock()
            self._reading.change(0, now)
            self._decoding.change(0, now)
            self._slots[:] = 0

    def to_dict(self) -> dict[str, int | float]:
        """The sums as JSON values."""
        sums = zip(_NAMES, self._slots.sum(0).tolist(), strict=True)
        return {name: int(value) if name in _INTEGERS else value for name, value in sums}

    def _sum(self, name: str) -> float:
        return float(self._slots[:, _NAMES.index(name)].sum())

    def _add(self, **more: float) -> None:
        slot = self._slots[os.getpid() % _SLOTS]
        for name, value in more.items():
            slot[_NAMES.index(name)] += value

    def _join(self, memory: Any) -> None:
        self._memory = memory
        self._slots = np.frombuffer(memory, np.float64).reshape(_SLOTS, len(_NAMES))
        self._lock = ForkLock()
        self._clock: Callable[[], float] = time.perf_counter
        self._reading, self._decoding = _Overlap(), _Overlap()

    def __repr__(self) -> str:
        return f"Counters({', '.join(f'{name}={value}' for name, value in self.to_dict().items())})"

    def __getstate__(self) -> dict[str, Any]:
        if get_spawning_popen() is not None:
            return {"shared": self._memory}
        return {"copied": self.to_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._join(state.get("shared") or RawArray("d", _SLOTS * len(_NAMES)))
        self._add(**state.get("copied", {}))


class _Overlap:
    """How long at least one of several threads is at something; its owner holds a lock."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._inside = 0
        self._since = 0.0

    def change(self, by: int, now: float) -> float:
        """Seconds since the last change during which somebody was inside; then ``by`` more are."""
        if self._process != os.getpid():  # a forked child has none of its parent's threads
            self.__init__()  # type: ignore[misc]
        seconds = now - self._since if self._inside else 0.0
        self._inside += by
        self._since = now
        return seconds
