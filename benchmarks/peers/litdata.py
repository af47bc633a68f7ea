# /// script
# dependencies = ["torch", "litdata", "boto3", "pillow", "numpy"]
# ///
"""LitData: binary chunks; photographs are kept as bytes, so that they are not encoded again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import litdata as ld
import numpy as np

from peers.photos import Photo, find_photos, shard_bytes
from peers.task import Task
from peers.view import pillow_view

LINK = "its own S3 client, into a cache that is empty at the start of each epoch"
ARMS: dict[str, dict[str, Any]] = {"LitData": {}}


def prepare(photos: Path, out: Path) -> None:
    found = find_photos(photos)
    ld.optimize(
        fn=_row,
        inputs=found,
        output_dir=str(out),
        chunk_bytes=shard_bytes(found),
        num_workers=len(os.sched_getaffinity(0)),
    )


def epoch(task: Task) -> Iterator[Any]:
    if task.url is None:
        dataset = Views(str(task.folder), shuffle=True, seed=task.seed, drop_last=False)
    else:
        parts = urlsplit(task.url)
        # There is no public way to tell its client that this endpoint speaks plain HTTP.
        ld.streaming.downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
        dataset = Views(
            f"s3:/{parts.path}",
            cache_dir=str(task.scratch),
            shuffle=True,
            seed=task.seed,
            drop_last=False,
            storage_options={
                "endpoint_url": f"http://{parts.netloc}",
                "aws_access_key_id": "nobody",
                "aws_secret_access_key": "nothing",
                "region_name": "us-east-1",
            },
        )
    for images, _ in ld.StreamingDataLoader(dataset, batch_size=task.batch, num_workers=task.workers):
        yield images


class Views(ld.StreamingDataset):
    def __getitem__(self, index: Any) -> tuple[np.ndarray, int]:
        row = super().__getitem__(index)
        return pillow_view(row["image"]), row["label"]


def _row(photo: Photo) -> dict[str, Any]:
    return {"image": photo.read(), "label": photo.label}
