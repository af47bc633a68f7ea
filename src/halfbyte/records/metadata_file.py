"""metadata.jsonl: the fields of extracted files, a line each, as Hugging Face's image folders have them."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import IO, Any

__all__ = ["METADATA_BESIDE", "METADATA_NAME", "MetadataFile"]

METADATA_NAME = "metadata.jsonl"
METADATA_BESIDE = f"{METADATA_NAME}.part"


class MetadataFile:
    """Rows of ``file_name`` and fields, written beside; kept only if they tell more than the files' names.

    Class indices are written as class names, so that the file is a list which can be converted again.

    Args:
        folder: where it goes.
        classes: names of the values of ``label``.
    """

    def __init__(self, folder: Path, classes: tuple[str, ...] | None) -> None:
        self._path = folder / METADATA_NAME
        self._beside = folder / METADATA_BESIDE
        self._file: IO[str] = open(self._beside, "w", encoding="utf-8")  # noqa: SIM115 (closed by close)
        self._classes = classes
        self._needed = False

    def add(self, file_name: str, fields: dict[str, Any]) -> None:
        """One row."""
        row = dict(fields)
        label = row.get("label")
        if self._classes is not None and isinstance(label, int):
            row["label"] = self._classes[label] if 0 <= label < len(self._classes) else None
        self._needed = self._needed or not _is_implied(file_name, row)
        line = json.dumps({"file_name": file_name, **row}, ensure_ascii=False, default=_as_json)
        self._file.write(line + "\n")

    def finish(self) -> bool:
        """Rename or remove the file; whether it is there."""
        self._file.close()
        if self._needed:
            os.replace(self._beside, self._path)
        else:
            self._beside.unlink()
        return self._needed

    def close(self) -> None:
        """Give the file back, whatever happened."""
        self._file.close()


def _is_implied(file_name: str, row: dict[str, Any]) -> bool:
    """Whether the folders of a file say all that its fields do: split/class/name."""
    if row.keys() - {"label", "split"}:
        return False
    said = [value for value in (row.get("split"), row.get("label")) if value is not None]
    return file_name.rpartition("/")[0] == "/".join(map(str, said))


def _as_json(value: Any) -> Any:
    """Arrow values that JSON lacks: bytes as base64, everything else (dates, decimals) as its text."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
