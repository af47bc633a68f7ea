"""What reading cost: the numbers that tuning and reports are made from."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, fields

__all__ = ["Counters"]


@dataclass
class Counters:
    """Sums since creation or the last reset; safe to add to from any thread, one set a process.

    Attributes:
        bytes_read: bytes that came from the store.
        reads: requests to the store.
        decode_seconds: wall seconds inside decoding, summed over the threads that asked for a batch.
        stall_seconds: wall seconds that the consumer waited for a batch.
        samples: samples delivered.
        errors: samples left out by ``on_error``.
    """

    bytes_read: int = 0
    reads: int = 0
    decode_seconds: float = 0.0
    stall_seconds: float = 0.0
    samples: int = 0
    errors: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

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
        with self._lock:
            self.bytes_read += bytes_read
            self.reads += reads
            self.decode_seconds += decode_seconds
            self.stall_seconds += stall_seconds
            self.samples += samples
            self.errors += errors

    def count_read(self, size: int) -> None:
        """Add one request of ``size`` bytes."""
        self.add(bytes_read=size, reads=1)

    def reset(self) -> None:
        """Start again from zero."""
        with self._lock:
            self.bytes_read = self.reads = self.samples = self.errors = 0
            self.decode_seconds = self.stall_seconds = 0.0

    def to_dict(self) -> dict[str, int | float]:
        """The sums as JSON values."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.compare}

    def __getstate__(self) -> dict[str, int | float]:
        return self.to_dict()

    def __setstate__(self, state: dict[str, int | float]) -> None:
        self.__init__(**state)  # type: ignore[misc]
