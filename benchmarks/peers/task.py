"""What a peer is asked to do: one epoch over what it prepared, from the local disk or over the link."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["SIZE", "Task"]

SIZE = 224


@dataclass(frozen=True)
class Task:
    """One epoch.

    Attributes:
        photos: the photographs that were converted, in class folders.
        folder: what ``prepare`` wrote, on the local disk.
        url: the same folder behind the link, for HTTP; S3 clients split it into endpoint, bucket and prefix.
            None: read locally.
        scratch: an empty folder, for peers that keep copies of what they fetch.
        seed: differs from epoch to epoch.
        batch: images in a batch; the last one may be smaller.
        workers: worker processes, or threads for peers that decode in threads.
    """

    photos: Path
    folder: Path
    url: str | None
    scratch: Path
    seed: int
    batch: int
    workers: int
