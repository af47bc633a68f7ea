# /// script
# dependencies = ["torch", "webdataset", "pillow", "numpy"]
# ///
"""WebDataset: tar files, read in sequence and mixed by a buffer; decoded by Pillow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import webdataset as wds

from peers.photos import find_photos, shards
from peers.task import Task
from peers.view import pillow_view

LINK = "its own client: curl, a request a shard"
ARMS: dict[str, dict[str, Any]] = {"WebDataset": {}}
_BUFFER = 1000


def prepare(photos: Path, out: Path) -> None:
    for number, shard in enumerate(shards(find_photos(photos))):
        with wds.TarWriter(str(out / f"{number:06}.tar")) as sink:
            for index, photo in enumerate(shard):
                sink.write({"__key__": f"{number:06}{index:06}", "jpg": photo.read(), "cls": photo.label})


def epoch(task: Task) -> Iterator[Any]:
    place = task.url or str(task.folder)
    urls = [f"{place}/{path.name}" for path in sorted(task.folder.glob("*.tar"))]
    dataset = (
        wds.WebDataset(urls, shardshuffle=len(urls), seed=task.seed)
        .shuffle(_BUFFER, seed=task.seed)
        .to_tuple("jpg", "cls")
        .map_tuple(pillow_view, int)
        .batched(task.batch)
    )
    for images, _ in wds.WebLoader(dataset, batch_size=None, num_workers=task.workers):
        yield images
