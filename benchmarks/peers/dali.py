# /// script
# dependencies = ["nvidia-dali-cuda120", "numpy"]
# ///
"""NVIDIA DALI on the CPU: files, decoded by its own decoder, which decodes what the crop needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from nvidia.dali import fn, pipeline_def, types

from peers.fetch import copy
from peers.photos import find_photos
from peers.task import SIZE, Task

LINK = "a copy of all files through the link, a request each, before it begins"
ARMS: dict[str, dict[str, Any]] = {"DALI, CPU": {}}


def prepare(photos: Path, out: Path) -> None:
    """Nothing to convert: files are linked, as they are."""
    for path in sorted(photos.glob("*/*")):
        target = out / path.relative_to(photos)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.hardlink_to(path)


def epoch(task: Task) -> Iterator[Any]:
    folder = task.folder if task.url is None else copy(task.folder, task.url, task.scratch)
    photos = find_photos(folder)
    pipeline = views(
        [str(photo.path) for photo in photos],
        [photo.label for photo in photos],
        batch_size=task.batch,
        num_threads=task.workers,
        device_id=None,
        seed=task.seed,
    )
    pipeline.build()
    left = len(photos)
    while left > 0:
        images, _ = pipeline.run()
        # The last batch is filled up from the next epoch.
        yield np.asarray(images.as_tensor())[:left]
        left -= task.batch


@pipeline_def
def views(files: list[str], labels: list[int]) -> Any:
    data, label = fn.readers.file(files=files, labels=labels, random_shuffle=True, initial_fill=1000)
    images = fn.decoders.image_random_crop(
        data, output_type=types.RGB, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
    )
    images = fn.resize(images, size=(SIZE, SIZE), interp_type=types.INTERP_LINEAR, antialias=True)
    images = fn.flip(images, horizontal=fn.random.coin_flip())
    return fn.transpose(images, perm=[2, 0, 1]), label
