"""What every store must do."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from halfbyte.format.buffers import Buffer
from halfbyte.storage.store import Store

__all__ = ["StoreContract"]

_CONTENT = bytes(range(256)) * 16


class StoreContract:
    """The tests of the Store protocol.

    Subclass it under a name that begins with ``Test`` and override the fixture ``store``::

        class TestMyStore(StoreContract):
            @pytest.fixture
            def store(self, tmp_path):
                return MyStore(tmp_path)
    """

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        """An empty store that can be written to."""
        raise NotImplementedError("override the fixture `store`")

    @pytest.fixture
    def filled(self, store: Store) -> Store:
        """The store with the 4096 bytes 0, 1, … 255, 0, … at ``a/b.bin``."""
        store.write("a/b.bin", [_CONTENT])
        return store

    def test_is_a_store(self, store: Store) -> None:
        assert isinstance(store, Store)

    def test_reads_what_was_written(self, filled: Store) -> None:
        assert filled.read("a/b.bin") == _CONTENT

    def test_writes_parts_of_every_type(self, store: Store) -> None:
        parts: list[Buffer] = [b"ab", bytearray(b"cd"), memoryview(b"_ef_")[1:3], b""]
        store.write("x", iter(parts))
        assert store.read("x") == b"abcdef"

    def test_keeps_empty_objects(self, store: Store) -> None:
        store.write("empty", [])
        assert store.read("empty") == b""
        assert store.read_ranges("empty", [(0, 9)]) == [b""]

    @pytest.mark.parametrize(("start", "stop"), [(0, 1), (3, 700), (4095, 4096), (5, 5), (0, 4096)])
    def test_reads_a_range(self, filled: Store, start: int, stop: int) -> None:
        assert filled.read("a/b.bin", start, stop) == _CONTENT[start:stop]

    def test_reads_from_a_start_to_the_end(self, filled: Store) -> None:
        assert filled.read("a/b.bin", 4000) == _CONTENT[4000:]

    @pytest.mark.parametrize(("start", "stop"), [(4000, 5000), (4096, 5000), (9000, 9001), (0, 1 << 40)])
    def test_gives_what_is_there_of_a_range_past_the_end(self, filled: Store, start: int, stop: int) -> None:
        assert filled.read("a/b.bin", start, stop) == _CONTENT[start:stop]
        assert filled.read_ranges("a/b.bin", [(start, stop)]) == [_CONTENT[start:stop]]

    def test_reads_ranges_in_the_order_asked(self, filled: Store) -> None:
        ranges = [(100, 200), (0, 3), (150, 160), (7, 7), (4090, 4096), (0, 3)]
        assert filled.read_ranges("a/b.bin", ranges) == [_CONTENT[a:b] for a, b in ranges]

    def test_reads_no_ranges(self, filled: Store) -> None:
        assert filled.read_ranges("a/b.bin", []) == []

    def test_says_that_an_object_is_missing(self, filled: Store) -> None:
        for path in ("a/none", "none/b.bin", "a/b.bin.part"):
            with pytest.raises(FileNotFoundError):
                filled.read(path)
            with pytest.raises(FileNotFoundError):
                filled.read_ranges(path, [(0, 1)])

    def test_replaces_an_object(self, filled: Store) -> None:
        filled.write("a/b.bin", [b"new"])
        assert filled.read("a/b.bin") == b"new"

    def test_leaves_nothing_of_a_write_that_fails(self, filled: Store) -> None:
        for path in ("a/b.bin", "a/new", "c/new"):
            with pytest.raises(ZeroDivisionError):
                filled.write(path, _failing_parts())
        assert filled.read("a/b.bin") == _CONTENT
        for path in ("a/new", "c/new"):
            with pytest.raises(FileNotFoundError):
                filled.read(path)

    def test_writes_after_a_write_that_failed(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError):
            store.write("x", _failing_parts())
        store.write("x", [b"whole"])
        assert store.read("x") == b"whole"

    def test_describes_a_path(self, store: Store) -> None:
        assert store.describe("records/00007.pcr").endswith("records/00007.pcr")

    def test_survives_pickling(self, filled: Store) -> None:
        filled.read("a/b.bin", 0, 1)
        copy: Store = pickle.loads(pickle.dumps(filled))
        assert copy.read("a/b.bin", 5, 9) == _CONTENT[5:9]

    def test_serves_threads(self, filled: Store) -> None:
        starts = list(range(0, 4000, 50))
        with ThreadPoolExecutor(4) as pool:
            parts = list(pool.map(lambda start: filled.read("a/b.bin", start, start + 50), starts))
        assert parts == [_CONTENT[start : start + 50] for start in starts]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    @pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
    def test_survives_fork(self, filled: Store) -> None:
        filled.read("a/b.bin", 0, 1)
        child = os.fork()
        if child == 0:
            right = filled.read("a/b.bin", 5, 9) == _CONTENT[5:9]
            os._exit(0 if right else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert filled.read("a/b.bin", 5, 9) == _CONTENT[5:9]


def _failing_parts() -> Iterator[bytes]:
    yield b"first"
    raise ZeroDivisionError
