"""What a user may choose, checked."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import xxhash

from halfbyte._native import Limits
from halfbyte.codecs.scan_script import PRESETS, ScanScript
from halfbyte.conversion.encode import Encoding
from halfbyte.conversion.engine import OnError
from halfbyte.errors import ScanScriptError
from halfbyte.format.header import MAX_RECORD_BYTES, VERSION

__all__ = ["Settings", "default_workers", "find_script"]

_LIMIT_NAMES = ("max_pixels", "max_components", "max_scans", "max_coefficient_bytes")


def default_workers() -> int:
    """One a core that this process may use."""
    return len(os.sched_getaffinity(0))


def find_script(name: str | os.PathLike[str]) -> ScanScript:
    """The preset of this name, or the script that a file spells.

    Raises:
        ScanScriptError: there is neither, or the file breaks a rule; says which.
    """
    path = Path(name)
    if os.fspath(name) in PRESETS or not path.is_file():
        return ScanScript.preset(os.fspath(name))
    try:
        return ScanScript.from_text(path.read_text(encoding="utf-8"), name=path.stem)
    except (ScanScriptError, UnicodeDecodeError) as error:
        raise ScanScriptError(f"{path}: {error}") from error


@dataclass(frozen=True)
class Settings:
    """The options of a conversion; see :func:`halfbyte.convert`.

    Raises:
        ValueError: a value is out of range; says which and what is allowed.
    """

    script: ScanScript
    record_bytes: int = 32 << 20
    seed: int = 0
    keep_order: bool = False
    encode_other: int | None = None
    on_error: OnError = "report"
    quality: bool = True
    keep_trailing: bool = True
    workers: int = field(default_factory=default_workers)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        _check_whole("record_bytes", self.record_bytes, 1, MAX_RECORD_BYTES >> 2)
        _check_whole("seed", self.seed, 0, (1 << 64) - 1)
        _check_whole("workers", self.workers, 1, 1024)
        if self.encode_other is not None:
            _check_whole("encode_other", self.encode_other, 1, 100)
        if self.on_error not in get_args(OnError):
            raise ValueError(f"on_error is {self.on_error!r}, expected one of {get_args(OnError)}")

    @property
    def encoding(self) -> Encoding:
        return Encoding(self.script, self.limits, self.encode_other, self.keep_trailing)

    def describe(self) -> dict[str, Any]:
        """Whatever changes the bytes of the result, JSON-able."""
        scans = json.dumps(self.script.to_dict(), sort_keys=True)
        return {
            "format_version": VERSION,
            "script": f"{self.script.name} ({xxhash.xxh3_64_hexdigest(scans.encode())})",
            "record_bytes": self.record_bytes,
            "seed": self.seed,
            "keep_order": self.keep_order,
            "encode_other": self.encode_other,
            "keep_trailing": self.keep_trailing,
            "quality": self.quality,
            "limits": {name: getattr(self.limits, name) for name in _LIMIT_NAMES},
        }


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(
            f"{name} is {value!r}, expected a whole number from {least} to {most}; give one of these"
        )
