"""Sample tables that were used last, for reads of single samples."""

from __future__ import annotations

from collections import OrderedDict

from halfbyte.format.header import Header
from halfbyte.format.sample_table import SampleTable
from halfbyte.storage.fork_lock import ForkLock

__all__ = ["TableCache"]


class TableCache:
    """Header and sample table by number of record; the least recently used go when there are too many bytes.

    Args:
        max_bytes: that the tables may hold together; the newest stays whatever its size.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._tables: OrderedDict[int, tuple[Header, SampleTable, int]] = OrderedDict()
        self._lock = ForkLock()

    def get(self, record: int) -> tuple[Header, SampleTable] | None:
        """What is kept of a record, if anything."""
        with self._lock:
            if record not in self._tables:
                return None
            self._tables.move_to_end(record)
            header, table, _ = self._tables[record]
        return header, table

    def put(self, record: int, header: Header, table: SampleTable) -> None:
        """Keep a table, and let go of the oldest."""
        size = table.nbytes
        with self._lock:
            *_, replaced = self._tables.pop(record, (None, None, 0))
            self._tables[record] = (header, table, size)
            self.held_bytes += size - replaced
            while self.held_bytes > self.max_bytes and len(self._tables) > 1:
                _, (_, _, oldest) = self._tables.popitem(last=False)
                self.held_bytes -= oldest
