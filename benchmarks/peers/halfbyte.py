"""halfbyte by its three doors, at several fidelities; in the environment that runs the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader

import halfbyte
from peers.fetch import fetch, fetch_ranges
from peers.photos import find_photos, shard_bytes
from peers.task import SIZE, Task

LINK = (
    "a store for HTTP ranges, in the benchmark: a request a record (Dataset: one a level and sample, at once)"
)
FIDELITIES = (None, 5, 2)
NAMES = {None: "full fidelity", 5: "fidelity 5", 2: "fidelity 2"}
VIEW = halfbyte.Transform(halfbyte.RandomResizedCrop(SIZE), flip=0.5)


def prepare(photos: Path, out: Path) -> None:
    halfbyte.convert(photos, out, record_bytes=shard_bytes(find_photos(photos)), quality=False)


def loader(task: Task, dataset: halfbyte.Dataset) -> Iterable[Any]:
    return halfbyte.Loader(dataset, batch_size=task.batch, num_threads=task.workers)


def iterable(task: Task, dataset: halfbyte.Dataset) -> Iterable[Any]:
    batches = halfbyte.IterableDataset(dataset, batch_size=task.batch)
    return DataLoader(batches, batch_size=None, num_workers=task.workers)


def map_style(task: Task, dataset: halfbyte.Dataset) -> Iterable[Any]:
    sampler = halfbyte.BatchSampler(dataset, batch_size=task.batch)
    return DataLoader(dataset, batch_sampler=sampler, num_workers=task.workers)


ARMS: dict[str, dict[str, Any]] = {
    f"halfbyte {name}, {NAMES[fidelity]}": {"door": door, "fidelity": fidelity}
    for name, door, fidelities in (
        ("Loader", loader, FIDELITIES),
        ("IterableDataset", iterable, FIDELITIES[:2]),
        ("Dataset", map_style, FIDELITIES[:2]),
    )
    for fidelity in fidelities
}


def epoch(task: Task, door: Any, fidelity: int | None) -> Iterator[Any]:
    place = task.folder if task.url is None else HttpStore(task.url)
    dataset = halfbyte.open(place, transform=VIEW, fidelity=fidelity, fields=["label"], seed=task.seed)
    for batch in door(task, dataset):
        yield batch["image"]


@dataclass(frozen=True)
class HttpStore:
    """A data set behind an HTTP server that knows ranges; it can only be read."""

    url: str

    def read(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        return fetch(f"{self.url}/{path}", start, stop)

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return fetch_ranges(f"{self.url}/{path}", ranges)

    def write(self, path: str, parts: Iterable[Any]) -> None:
        raise OSError(f"{self.describe(path)} can only be read; write to a local folder")

    def describe(self, path: str) -> str:
        return f"{self.url}/{path}"
