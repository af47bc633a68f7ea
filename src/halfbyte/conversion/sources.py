"""What there is to convert: files with their fields, wherever the list of them came from."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from halfbyte.format.sample_table import MAX_SLICE_BYTES

__all__ = ["Row", "Source", "SourceFile", "Sources", "path_key", "probe"]

Row = str | os.PathLike[str] | Mapping[str, Any]
Source = str | os.PathLike[str] | Iterable[Row]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was when the source was read.

    Attributes:
        path: to open it.
        key: its name in the data set.
        size: bytes.
        mtime: of its last change, nanoseconds.
    """

    path: str
    key: str
    size: int
    mtime: int


@dataclass(frozen=True)
class Sources:
    """Every file of a source, in the order of its keys (folder) or as listed.

    Attributes:
        where: the source, for messages.
        root: prefix of every path; empty or ending with a slash.
        paths: of the n files to convert, after ``root``.
        keys: their names in the data set.
        sizes: int64 (n,), bytes.
        mtimes: int64 (n,), nanoseconds.
        columns: the user's fields, n values each.
        classes: names of the values of ``label``, if those are class indices.
        refused: (key, reason) of what is no file that could be read.
        ignored: how many entries are no images by design, by reason: "hidden", "system file",
            "document", "loop".
    """

    where: str
    root: str
    paths: list[str]
    keys: list[str]
    sizes: npt.NDArray[np.int64]
    mtimes: npt.NDArray[np.int64]
    columns: dict[str, pa.Array] = field(default_factory=dict)
    classes: tuple[str, ...] | None = None
    refused: tuple[tuple[str, str], ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int) -> SourceFile:
        return SourceFile(
            self.root + self.paths[index], self.keys[index], int(self.sizes[index]), int(self.mtimes[index])
        )

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the user's fields."""
        return pa.schema([pa.field(name, column.type) for name, column in self.columns.items()])

    @property
    def num_found(self) -> int:
        """Every entry seen, whatever becomes of it."""
        return len(self) + len(self.refused) + sum(self.ignored.values())

    def rows(self, indices: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
        """The user's fields of some files."""
        taken = {name: column.take(pa.array(indices)).to_pylist() for name, column in self.columns.items()}
        return [{name: values[i] for name, values in taken.items()} for i in range(len(indices))]


def path_key(path: str) -> str:
    r"""A path as a sample's name: bytes that are no UTF-8 become ``\xff`` and stay readable."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def probe(path: str) -> tuple[os.stat_result | None, str]:
    """What is known of a file without opening it, links followed, and why it cannot be converted."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None, "broken symbolic link" if os.path.islink(path) else "missing: there is no such file"
    except (OSError, ValueError) as error:
        return None, f"unreadable: {getattr(error, 'strerror', None) or error}"
    if not stat.S_ISREG(status.st_mode):
        return None, "not a regular file"
    if status.st_size > MAX_SLICE_BYTES:
        return None, f"too large: {status.st_size} bytes, a sample can have {MAX_SLICE_BYTES}"
    return status, ""
