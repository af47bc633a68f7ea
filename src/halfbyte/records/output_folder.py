"""A folder that extraction fills: safe names, whole files, and the way back."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from halfbyte.errors import OutputExists
from halfbyte.format.buffers import Buffer

__all__ = ["OutputFolder", "is_name_too_long", "unsafe_key"]

UNFINISHED_NAME = ".halfbyte-unfinished"
_BESIDE_NAME = ".halfbyte-part"


def unsafe_key(key: str) -> str:
    """Why a sample's key cannot be a path inside a folder; empty if it can."""
    if key.startswith("/"):
        return "is an absolute path"
    if "\0" in key:
        return "holds a zero byte"
    parts = key.split("/")
    if ".." in parts:
        return "leads out of the folder"
    if "" in parts or "." in parts:
        return "has an empty part"
    return ""


@dataclass
class OutputFolder:
    """A folder that was empty when it was claimed, so that all in it can be taken back.

    Args:
        root: the folder.
        reserved: names directly in it that no sample may have.
    """

    root: Path
    reserved: frozenset[str] = frozenset()
    _made: set[str] = field(default_factory=set, repr=False)
    _is_new: bool = field(default=False, repr=False)

    def claim(self) -> None:
        """Make the folder or take an empty one, and mark it as unfinished.

        Raises:
            OutputExists: it is a file, or holds something.
        """
        if self.root.exists() and not self.root.is_dir():
            raise OutputExists(f"{self.root}: is a file, expected a folder; name another one")
        self._is_new = not self.root.exists()
        self.root.mkdir(parents=True, exist_ok=True)
        there = sorted(entry.name for entry in self.root.iterdir())
        if UNFINISHED_NAME in there:
            raise OutputExists(
                f"{self.root}: holds an extraction that was killed before its end; "
                f"delete the folder and run again"
            )
        if there:
            raise OutputExists(
                f"{self.root}: holds {len(there)} entries (such as {there[0]!r}), expected an empty or a new "
                f"folder; name another one"
            )
        self._made.add(UNFINISHED_NAME)
        (self.root / UNFINISHED_NAME).touch()

    def finish(self) -> None:
        """Take the mark away: all is written."""
        (self.root / UNFINISHED_NAME).unlink()

    def undo(self) -> None:
        """Remove all that was written, and the folder if it is ours."""
        for name in self._made | self.reserved:
            path = self.root / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if self._is_new and not any(self.root.iterdir()):
            self.root.rmdir()

    def write(self, key: str, parts: Iterable[Buffer]) -> tuple[str, int]:
        """Write a file named by ``key``, beside and then renamed, or by a free name near it.

        Returns:
            The file's path from the root, and its size in bytes.
        """
        *folders, name = key.split("/")
        folder = ""
        for part in folders:
            folder = self._free(folder, part, folder_wanted=True)
            self._made.add(folder.partition("/")[0])
            (self.root / folder).mkdir(exist_ok=True)
        path = self._free(folder, name, folder_wanted=False)
        self._made.update((path.partition("/")[0], _BESIDE_NAME))
        # In the folder of the file, for a rename within one file system; its own name might become too long.
        beside = self.root / folder / _BESIDE_NAME
        size = 0
        with open(beside, "wb") as file:
            for data in parts:
                size += file.write(data)
        os.replace(beside, self.root / path)
        return path, size

    def _free(self, folder: str, name: str, *, folder_wanted: bool) -> str:
        """``name`` in ``folder``, numbered if something else has it."""
        stem, suffix = os.path.splitext(name)
        number = 1
        while True:
            candidate = name if number == 1 else f"{stem}~{number}{suffix}"
            path = f"{folder}/{candidate}" if folder else candidate
            if not self._is_taken(path, folder_wanted):
                return path
            number += 1

    def _is_taken(self, path: str, folder_wanted: bool) -> bool:
        if path.rpartition("/")[2] in (_BESIDE_NAME, UNFINISHED_NAME) or path in self.reserved:
            return True
        full = self.root / path
        return not full.is_dir() if folder_wanted and os.path.lexists(full) else os.path.lexists(full)


def is_name_too_long(error: OSError) -> bool:
    """Whether a file could not be written for its name alone."""
    return error.errno == errno.ENAMETOOLONG
