"""What reading cost: the numbers that tuning and reports are made from."""

from __future__ import annotations

import os
from multiprocessing.context import get_spawning_popen
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np

from halfbyte.storage.fork_lock import ForkLock

__all__ = ["Counters"]

_INTEGERS = ("bytes_read", "reads", "samples", "errors")
_NAMES = (*_INTEGERS, "decode_seconds", "stall_seconds")
_SLOTS = 1024


class Counters:
    """Sums since creation or the last reset, over all threads and all DataLoader workers.

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
    def samples(self) -> int:
        """Samples delivered; by workers ahead of their use, as bytes are read."""
        return int(self._sum("samples"))

    @property
    def errors(self) -> int:
        """Samples left out by ``on_error``."""
        return int(self._sum("errors"))

    @property
    def decode_seconds(self) -> float:
        """Wall seconds inside decoding, summed over the threads that asked for a batch."""
        return self._sum("decode_seconds")

    @property
    def stall_seconds(self) -> float:
        """Wall seconds that the consumer waited for a batch; for workers, the sum of what each waited."""
        return self._sum("stall_seconds")

    def add(
        self,
        *,
        bytes_read: int = 0,
        reads: int = 0,
        decode_seconds: float = 0.0,
        stall_seconds: float = 0.0,
        samples: int = 0,
        errors: int = 0,
    ) -> None:
        """Add to the sums."""
        more = (bytes_read, reads, samples, errors, decode_seconds, stall_seconds)
        with self._lock:
            self._slots[os.getpid() % _SLOTS] += more

    def count_read(self, size: int) -> None:
        """Add one request of ``size`` bytes."""
        self.add(bytes_read=size, reads=1)

    def reset(self) -> None:
        """Start again from zero; do it between epochs, as a worker may be adding just now."""
        with self._lock:
            self._slots[:] = 0

    def to_dict(self) -> dict[str, int | float]:
        """The sums as JSON values."""
        return {name: getattr(self, name) for name in _NAMES}

    def _sum(self, name: str) -> float:
        return float(self._slots[:, _NAMES.index(name)].sum())

    def _join(self, memory: Any) -> None:
        self._memory = memory
        self._slots = np.frombuffer(memory, np.float64).reshape(_SLOTS, len(_NAMES))
        self._lock = ForkLock()

    def __repr__(self) -> str:
        return f"Counters({', '.join(f'{name}={value}' for name, value in self.to_dict().items())})"

    def __getstate__(self) -> dict[str, Any]:
        if get_spawning_popen() is not None:
            return {"shared": self._memory}
        return {"copied": self.to_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._join(state.get("shared") or RawArray("d", _SLOTS * len(_NAMES)))
        self.add(**state.get("copied", {}))
