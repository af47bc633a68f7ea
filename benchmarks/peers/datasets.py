# /// script
# dependencies = ["torch", "datasets", "aiohttp", "requests", "pillow", "numpy"]
# ///
"""Hugging Face datasets: parquet files, streamed, or as a map-style data set in its Arrow cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets as hf
import torch
from torch.utils.data import DataLoader

from peers.photos import find_photos, shards
from peers.task import Task
from peers.view import view

LINK = "its own client (fsspec), streamed"
ARMS: dict[str, dict[str, Any]] = {
    "HF datasets, streamed": {"streaming": True},
    "HF datasets, map-style": {"streaming": False},
}
_BUFFER = 1000


def prepare(photos: Path, out: Path) -> None:
    features = hf.Features({"image": hf.Image(), "label": hf.Value("int64")})
    for number, shard in enumerate(shards(find_photos(photos))):
        rows = {
            "image": [{"bytes": photo.read(), "path": photo.path.name} for photo in shard],
            "label": [photo.label for photo in shard],
        }
        hf.Dataset.from_dict(rows, features=features).to_parquet(out / f"{number:06}.parquet")
    _arrow(out, out / "arrow")


def epoch(task: Task, streaming: bool) -> Iterator[Any]:
    place = task.url or str(task.folder)
    if streaming:
        files = [f"{place}/{path.name}" for path in sorted(task.folder.glob("*.parquet"))]
        rows = hf.load_dataset("parquet", data_files=files, split="train", streaming=True)
        # One shard at a time, as WebDataset does: by default it reads ten, and sleeps 5 s at the end.
        rows = rows.shuffle(seed=task.seed, buffer_size=_BUFFER, max_buffer_input_shards=1)
        yield from DataLoader(rows, task.batch, num_workers=task.workers, collate_fn=_collate)
    elif task.url is None:
        rows = _arrow(task.folder, task.folder / "arrow")
        yield from DataLoader(rows, task.batch, shuffle=True, num_workers=task.workers, collate_fn=_collate)
    else:
        raise NotImplementedError("the map-style data set is read from a local Arrow cache")


def _arrow(folder: Path, cache: Path) -> hf.Dataset:
    files = [str(path) for path in sorted(folder.glob("*.parquet"))]
    return hf.load_dataset("parquet", data_files=files, split="train", cache_dir=str(cache))


def _collate(rows: list[dict[str, Any]]) -> torch.Tensor:
    return torch.stack([torch.from_numpy(view(row["image"])) for row in rows])
