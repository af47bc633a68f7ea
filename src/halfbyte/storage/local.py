"""A folder on a local or mounted disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from halfbyte.format.buffers import Buffer

__all__ = ["LocalStore", "write_atomically"]


@dataclass(frozen=True)
class LocalStore:
    """A folder. Opens files per call, so it holds nothing that fork, threads or pickle could break."""

    root: Path

    def read(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        descriptor = os.open(self.root / path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            return _pread(descriptor, start, size if stop is None else min(stop, size))
        finally:
            os.close(descriptor)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        descriptor = os.open(self.root / path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            return [_pread(descriptor, start, min(stop, size)) for start, stop in ranges]
        finally:
            os.close(descriptor)

    def write(self, path: str, parts: Iterable[Buffer]) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, parts)

    def describe(self, path: str) -> str:
        return os.path.join(self.root, path)


def _pread(descriptor: int, start: int, stop: int) -> bytes:
    """As many of the bytes as there are; a single pread may stop early (Linux does at 2 GiB)."""
    data = os.pread(descriptor, max(0, stop - start), start)
    if len(data) >= stop - start:
        return data
    parts = [data]
    position = start + len(data)
    while position < stop and parts[-1]:
        parts.append(os.pread(descriptor, stop - position, position))
        position += len(parts[-1])
    return b"".join(parts)


def write_atomically(path: Path, parts: Iterable[Buffer]) -> None:
    """Write beside ``path``, flush to the disk, rename over it, and flush the rename.

    The name beside is always the same, ``<name>.part``, so the next run overwrites what a killed one left.
    """
    beside = path.with_name(f"{path.name}.part")
    try:
        with open(beside, "wb", buffering=1 << 20) as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot flush a folder; the rename stands all the same.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
