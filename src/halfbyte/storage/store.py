"""What a place that keeps a data set can do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from halfbyte.format.buffers import Buffer

__all__ = ["Store"]


@runtime_checkable
class Store(Protocol):
    """Bytes by path. Safe to share between threads and after fork; picklable.

    Paths are relative, with forward slashes. A range that reaches past the end of the object gives the bytes
    that are there: whoever asked knows how many it needs. ``halfbyte.testing`` has the tests of all this.
    """

    def read(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        """Bytes ``start`` to ``stop`` (None: to the end). FileNotFoundError if there is no such object."""
        ...

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Several ranges of one object, in the order asked. FileNotFoundError as for ``read``."""
        ...

    def write(self, path: str, parts: Iterable[Buffer]) -> None:
        """Put an object atomically: readers see all of it or none, and an error leaves what was there.

        One writer a path at a time. Folders are made where there are such things.
        """
        ...

    def describe(self, path: str) -> str:
        """The path as a person would find it, for messages."""
        ...
