"""The folder that the data set goes to: what it holds before, and what can go wrong with writing to it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from halfbyte.conversion.fingerprint import Fingerprint
from halfbyte.conversion.journal import FOLDER, PLAN_NAME
from halfbyte.conversion.sources import Sources
from halfbyte.errors import ConvertError, HalfbyteError, OutputExists
from halfbyte.format.manifest import MANIFEST_NAME, Manifest, parse_manifest

__all__ = ["check_same", "examine", "read_complete", "writing"]

_FULL = (errno.ENOSPC, errno.EDQUOT)
_HARMLESS = frozenset({FOLDER, ".DS_Store", "lost+found"})


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Turn the system's refusals to write into ConvertError."""
    try:
        yield
    except (HalfbyteError, BrokenPipeError):  # a broken pipe is whoever draws the progress
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise ConvertError(
                f"{out}: the disk is full ({error.strerror}); free some space and give the same command "
                "again: it goes on where it was"
            ) from error
        raise ConvertError(
            f"{out}: cannot be written to ({error.strerror or error}: {error.filename or 'no file'}); make "
            "it a folder that you may write to, or choose another, and give the same command again"
        ) from error


def examine(out: Path) -> Literal["fresh", "unfinished", "complete"]:
    """What ``out`` is to a conversion.

    Raises:
        OutputExists: it holds something else.
    """
    if not os.path.lexists(out):
        return "fresh"
    if not out.is_dir():
        raise OutputExists(f"{out}: is no folder; choose the name of a new folder")
    if (out / MANIFEST_NAME).exists():
        return "complete"
    if (out / FOLDER / PLAN_NAME).exists():
        return "unfinished"
    others = sorted(set(os.listdir(out)) - _HARMLESS)
    if others:
        raise OutputExists(
            f"{out}: holds other things already ({len(others)}, such as {others[0]}); choose a new or empty "
            "folder"
        )
    return "fresh"


def read_complete(out: Path) -> Manifest:
    """The manifest of the data set in ``out``; CorruptRecord or UnsupportedFormat if it is none."""
    path = out / MANIFEST_NAME
    return parse_manifest(path.read_bytes(), where=str(path))


def check_same(out: Path, manifest: Manifest, fingerprint: Fingerprint, sources: Sources) -> None:
    """Make sure that the data set in ``out`` is what converting these sources would give.

    Names, sizes, fields and settings are compared; and a source that changed after the data set was finished,
    at equal size, shows by its time of change.

    Raises:
        OutputExists: it is something else.
    """
    action = "choose another folder, or delete this one to convert again"
    if manifest.dataset_id != fingerprint.identity:
        was = manifest.provenance
        changed = [
            f"{name} was {was[name]!r}, is {value!r}"
            for name, value in fingerprint.settings.items()
            if name in was and was[name] != value
        ]
        what = "; ".join(changed) or f"it has {manifest.num_samples} samples, the source {len(sources)} files"
        raise OutputExists(f"{out}: holds a data set of other sources or settings ({what}); {action}")
    finished = (out / MANIFEST_NAME).stat().st_mtime_ns
    newer = [
        key for key, mtime in zip(sources.keys, sources.mtimes.tolist(), strict=True) if mtime > finished
    ]
    if newer:
        raise OutputExists(
            f"{out}: holds a data set that is older than {len(newer)} of its sources (such as {newer[0]}); "
            f"{action}"
        )
