# /// script
# dependencies = ["grain", "array-record", "pillow", "numpy"]
# ///
"""Google's Grain over ArrayRecord files; decoded by Pillow in worker processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from array_record.python.array_record_module import ArrayRecordWriter
from grain import MapDataset, MultiprocessingOptions, ReadOptions
from grain.sources import ArrayRecordDataSource

from peers.fetch import copy
from peers.photos import find_photos, shards
from peers.task import Task
from peers.view import pillow_view

LINK = "a copy of all files through the link, a request a shard, before it begins"
ARMS: dict[str, dict[str, Any]] = {"Grain, ArrayRecord": {}}


def prepare(photos: Path, out: Path) -> None:
    for number, shard in enumerate(shards(find_photos(photos))):
        writer = ArrayRecordWriter(str(out / f"{number:06}.arrayrecord"), "group_size:1")
        for photo in shard:
            writer.write(photo.label.to_bytes(4, "little") + photo.read())
        writer.close()


def epoch(task: Task) -> Iterator[Any]:
    folder = task.folder if task.url is None else copy(task.folder, task.url, task.scratch)
    source = ArrayRecordDataSource([str(path) for path in sorted(folder.glob("*.arrayrecord"))])
    batches = (
        MapDataset.source(source)
        .shuffle(seed=task.seed)
        .map(_view)
        .to_iter_dataset(ReadOptions(num_threads=1, prefetch_buffer_size=task.batch))
        .batch(task.batch)
        .mp_prefetch(MultiprocessingOptions(num_workers=task.workers))
    )
    for images, _ in batches:
        yield images


def _view(record: bytes) -> tuple[np.ndarray, int]:
    return pillow_view(record[4:]), int.from_bytes(record[:4], "little")
