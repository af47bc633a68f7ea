"""A model run on an example, and left as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["run_example", "tensors_of", "unchanged"]


def run_example(model: nn.Module, example: Any) -> Any:
    """The output for an input, which is a tuple of positional or a dict of keyword arguments where a model
    takes several.
    """
    if isinstance(example, Mapping):
        return model(**example)
    return model(*example) if isinstance(example, (tuple, list)) else model(example)


def tensors_of(output: Any) -> Iterator[Tensor]:
    """All tensors in what a model returned, however nested in tuples, lists and dicts."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from tensors_of(value)
    elif isinstance(output, (tuple, list)):
        for value in output:
            yield from tensors_of(value)


@contextmanager
def unchanged(model: nn.Module) -> Iterator[None]:
    """Buffers (the statistics of normalization) and random generators as they were."""
    before = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
    try:
        with torch.random.fork_rng():
            yield
    finally:
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(before[name])
