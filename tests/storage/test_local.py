"""LocalStore, and writing a file atomically."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from halfbyte.storage import local
from halfbyte.storage.local import LocalStore, write_atomically
from halfbyte.storage.store import Store
from halfbyte.testing import StoreContract


class TestLocalStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return LocalStore(tmp_path / "root")


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    (tmp_path / "x").write_bytes(bytes(range(100)))
    return LocalStore(tmp_path)


def read_at_most(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """As Linux does over 2 GiB, and network file systems at will."""
    pread = os.pread
    monkeypatch.setattr(local.os, "pread", lambda fd, size, at: pread(fd, min(size, most), at))


def test_goes_on_after_short_reads(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    read_at_most(monkeypatch, 7)
    assert store.read("x") == bytes(range(100))
    assert store.read("x", 3, 50) == bytes(range(3, 50))
    assert store.read_ranges("x", [(90, 200), (0, 10)]) == [bytes(range(90, 100)), bytes(range(10))]


def test_gives_what_is_left_of_a_file_that_shrinks(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Longer:
        st_size = 1000

    monkeypatch.setattr(local.os, "fstat", lambda descriptor: Longer)
    assert store.read("x") == bytes(range(100))


def test_closes_what_it_opens(store: LocalStore) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        store.read("x")
        store.read_ranges("x", [(0, 1)])
        store.write("y", [b"1"])
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_failing_writer_leaves_no_file(tmp_path: Path) -> None:
    def parts() -> object:
        yield b"1" * 5_000_000
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "x", parts())
    assert os.listdir(tmp_path) == []


def test_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(local.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "x", [b"1"])
    assert os.listdir(tmp_path) == []


def test_what_a_killed_writer_left_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(b"half of it" * 100)
    write_atomically(tmp_path / "x", [b"all"])
    assert os.listdir(tmp_path) == ["x"]
    assert (tmp_path / "x").read_bytes() == b"all"


def test_data_is_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    replace = os.replace
    monkeypatch.setattr(local.os, "fsync", lambda descriptor: seen.append("fsync"))
    monkeypatch.setattr(local.os, "replace", lambda *paths: (seen.append("rename"), replace(*paths)))
    write_atomically(tmp_path / "x", [b"1"])
    assert seen == ["fsync", "rename", "fsync"]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_a_folder_that_cannot_be_flushed_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    fsync = os.fsync

    def flush(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    monkeypatch.setattr(local.os, "fsync", flush)
    write_atomically(tmp_path / "x", [b"1"])
    assert (tmp_path / "x").read_bytes() == b"1"


def test_a_failing_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flush(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(local.os, "fsync", flush)
    with pytest.raises(OSError, match="Input/output error"):
        write_atomically(tmp_path / "x", [b"1"])
