"""The photographs, and how they are split into shards: the same for every peer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Photo", "find_photos", "shard_bytes", "shards"]

_SHARD_BYTES, _FEWEST_SHARDS = 8 << 20, 8


@dataclass(frozen=True)
class Photo:
    """One file; its label is the place of its folder among the sorted class folders."""

    path: Path
    label: int

    def read(self) -> bytes:
        return self.path.read_bytes()


def find_photos(folder: Path) -> list[Photo]:
    """All photographs of a folder of class folders, in an order that mixes the classes."""
    classes = sorted(entry.name for entry in folder.iterdir())
    found = [Photo(path, classes.index(path.parent.name)) for path in folder.glob("*/*.jpg")]
    return sorted(found, key=lambda photo: photo.path.name)


def shard_bytes(photos: list[Photo]) -> int:
    """How large a shard is: 8 MiB, or less where there would be fewer than eight."""
    total = sum(photo.path.stat().st_size for photo in photos)
    return min(_SHARD_BYTES, total // _FEWEST_SHARDS + 1)


def shards(photos: list[Photo]) -> Iterator[list[Photo]]:
    """The photographs of each shard."""
    limit = shard_bytes(photos)
    shard: list[Photo] = []
    size = 0
    for photo in photos:
        shard.append(photo)
        size += photo.path.stat().st_size
        if size >= limit:
            yield shard
            shard, size = [], 0
    if shard:
        yield shard
