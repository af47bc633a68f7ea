"""A store as slow as one says: for trials of what a slow link does to training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from halfbyte.format.buffers import Buffer
from halfbyte.keyed.hashes import Stream, check_seed, derive_keys, keyed_uniforms
from halfbyte.storage.fork_lock import ForkLock
from halfbyte.storage.store import Store

__all__ = ["ThrottledStore"]


@dataclass(eq=False)
class ThrottledStore:
    """Another store behind one link of a stated bandwidth and latency, shared by its readers in one process.

    Bytes pass one after another, and idle time earns nothing: there is no burst that could hide the limit.
    Latency delays what a read returns and leaves the link to others meanwhile. Writes pass freely.

    Args:
        inner: the store that has the bytes.
        bandwidth: bytes a second.
        latency: seconds before the first byte of every read.
        jitter: most seconds that are added to the latency of a read: uniform in [0, jitter).
        seed: of the jitter; what the n-th read of a store waits is a function of (seed, n).

    Raises:
        ValueError: no such link can be.

    Example::

        store = ThrottledStore(LocalStore(Path("photos.halfbyte")), bandwidth=10e6, latency=0.02, jitter=0.01)
        ds = halfbyte.open(store)
    """

    inner: Store
    bandwidth: float
    latency: float = 0.0
    jitter: float = 0.0
    seed: int = 0
    _clock: Callable[[], float] = field(default=time.monotonic, init=False, repr=False)
    _sleep: Callable[[float], None] = field(default=time.sleep, init=False, repr=False)
    _free_at: float = field(default=0.0, init=False, repr=False)
    _reads: int = field(default=0, init=False, repr=False)
    _lock: ForkLock = field(default_factory=ForkLock, init=False, repr=False)

    def __post_init__(self) -> None:
        # Written so that NaN fails too.
        if not (self.bandwidth > 0 and self.latency >= 0 and self.jitter >= 0):
            raise ValueError(
                f"bandwidth of {self.bandwidth} bytes/s, latency of {self.latency} s and jitter of "
                f"{self.jitter} s; give a bandwidth above 0, a latency and a jitter of 0 or more"
            )
        check_seed(self.seed)

    def read(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        data = self.inner.read(path, start, stop)
        self._pass(len(data))
        return data

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        parts = self.inner.read_ranges(path, ranges)
        self._pass(sum(map(len, parts)))
        return parts

    def write(self, path: str, parts: Iterable[Buffer]) -> None:
        self.inner.write(path, parts)

    def describe(self, path: str) -> str:
        return self.inner.describe(path)

    def _pass(self, size: int) -> None:
        with self._lock:
            now = self._clock()
            self._free_at = max(self._free_at, now) + size / self.bandwidth
            arrival = self._free_at + self.latency
            number = self._reads
            self._reads += 1
        if self.jitter:
            arrival += self.jitter * _uniform(self.seed, number)
        self._sleep(max(0.0, arrival - now))

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("inner", "bandwidth", "latency", "jitter", "seed")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def _uniform(seed: int, number: int) -> float:
    return float(keyed_uniforms(derive_keys(seed, Stream.JITTER, number), 1)[0, 0])
