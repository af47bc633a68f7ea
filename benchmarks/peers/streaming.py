# /// script
# dependencies = ["torch", "mosaicml-streaming", "pillow", "numpy"]
# ///
"""MosaicML Streaming: MDS shards; photographs are kept as bytes, so that they are not encoded again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import torch

# Streaming imports torchvision, which cannot be imported beside a torch that it was not built for, unless its
# operators are declared. None is used here.
try:
    import torchvision  # noqa: F401
except RuntimeError:
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor a, Tensor b, float c) -> Tensor")

import streaming as mds

from peers.photos import find_photos, shard_bytes
from peers.task import Task
from peers.view import pillow_view

LINK = "its own S3 client, into a folder that is empty at the start of each epoch"
ARMS: dict[str, dict[str, Any]] = {"MosaicML Streaming": {}}


def prepare(photos: Path, out: Path) -> None:
    found = find_photos(photos)
    columns = {"image": "bytes", "label": "int"}
    with mds.MDSWriter(out=str(out), columns=columns, size_limit=shard_bytes(found)) as sink:
        for photo in found:
            sink.write({"image": photo.read(), "label": photo.label})


def epoch(task: Task) -> Iterator[Any]:
    place: dict[str, str] = {"local": str(task.folder)}
    if task.url is not None:
        parts = urlsplit(task.url)
        os.environ |= {
            "S3_ENDPOINT_URL": f"http://{parts.netloc}",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        place = {"local": str(task.scratch), "remote": f"s3:/{parts.path}"}
    dataset = Views(**place, shuffle=True, shuffle_seed=task.seed, batch_size=task.batch)
    # Workers are forks: they must not inherit the connection by which the index was read.
    for stream in dataset.streams:
        stream._downloader.clean_up()
    for images, _ in mds.StreamingDataLoader(dataset, batch_size=task.batch, num_workers=task.workers):
        yield images
    mds.base.util.clean_stale_shared_memory()


class Views(mds.StreamingDataset):
    def __getitem__(self, index: Any) -> tuple[np.ndarray, int]:
        row = super().__getitem__(index)
        return pillow_view(row["image"]), row["label"]
