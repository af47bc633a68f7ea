"""What both doors do with a data set: a pipeline over it, and its batches as tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from halfbyte.loader.counters import Counters
from halfbyte.loader.dataset import Dataset
from halfbyte.loader.pipeline import Batch, PipelineOptions

__all__ = ["DEFAULT_PREFETCH_BYTES", "pipeline_options", "require_crop", "to_tensors"]

DEFAULT_PREFETCH_BYTES = 256 << 20


def to_tensors(batch: Batch, dataset: Dataset) -> dict[str, Any]:
    """A batch as torch tensors; values that are not all numbers stay a list."""
    result: dict[str, Any] = {"image": torch.from_numpy(batch.pixels)}
    for name in dataset.fields:
        values = batch.column(name)
        kinds = {type(value) for value in values}
        numbers = len(kinds) == 1 and kinds <= {int, float, bool}
        dtype = torch.float64 if kinds == {float} else None
        result[name] = torch.tensor(values, dtype=dtype) if numbers else values
    return result


def pipeline_options(
    dataset: Dataset,
    counters: Counters,
    *,
    seed: int,
    threads: int,
    prefetch_bytes: int,
    fidelity: Callable[[int], int],
) -> PipelineOptions:
    """How a pipeline reads a data set: its own settings, reads counted in ``counters``."""
    decoder = dataset.decoder(threads=threads, counters=counters)
    decoder.seed = seed
    return PipelineOptions(dataset.records.metered(counters), decoder, fidelity, prefetch_bytes, counters)


def require_crop(dataset: Dataset) -> None:
    """Raise ValueError unless all images of the data set come out in one size."""
    if dataset.transform.output_size is None:
        raise ValueError(
            "the data set's transform has no crop, so its images cannot share a batch; open it with "
            "transform=Transform(RandomResizedCrop(224)) or Transform(CenterCrop(224, resize=256))"
        )
