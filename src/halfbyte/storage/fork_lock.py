"""A lock that a forked child finds free."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

__all__ = ["ForkLock"]


class ForkLock:
    """A mutex; in a child made by fork it is new, because the thread that held it exists in the parent only.

    What it guards must be whole between any two bytecodes, or be thrown away by the child.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _ALL.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[ForkLock], tuple[()]]:
        return ForkLock, ()


_ALL: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _renew() -> None:
    for lock in _ALL:
        lock._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
