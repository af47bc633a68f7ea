"""A model run on a few batches, to see what a change of its maps does to its output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.engine.example import run_example, tensors_of, unchanged
from halfbyte.activations.feature_maps.hooks import Change, MapHooks

__all__ = ["Trial", "at_rest"]


@contextmanager
def at_rest(model: nn.Module) -> Iterator[None]:
    """A block in which the model evaluates, without gradients; it, and torch's random generators, are
    afterwards what they were.
    """
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with unchanged(model), torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


class Trial:
    """Runs a model that is `at_rest`.

    Args:
        model: to run.
        modules: whose outputs are the maps, and their names.
        batches: inputs, each as `run_example` takes them.

    Raises:
        ValueError: there is no batch, or the model returns no float tensor.
    """

    def __init__(self, model: nn.Module, modules: Mapping[nn.Module, str], batches: Sequence[Any]) -> None:
        if not batches:
            raise ValueError("calibrate holds no batch: give inputs of the model, such as a DataLoader")
        self.model = model
        self.modules = modules
        self._batches = batches
        self._plain = [self._output(batch) for batch in batches]

    def run(self, codecs: Mapping[str, Codec], *, batches: int | None = None) -> float:
        """The squared relative error of the output, Σ (y' - y)² / Σ y², with maps of these names packed.

        Args:
            codecs: by name; other maps stay as they are.
            batches: only so many of the first.
        """
        error = total = 0.0
        with self.compressed(codecs):
            for batch, plain in zip(self._batches[:batches], self._plain, strict=False):
                error += float((self._output(batch) - plain).square().sum())
                total += float(plain.square().sum())
        return error / total if total > 0 else error

    def compressed(self, codecs: Mapping[str, Codec]) -> MapHooks:
        """A block in which maps of these names are packed and unpacked."""

        def change_of(name: str) -> Change | None:
            codec = codecs.get(name)
            return None if codec is None else lambda x: codec.encode(x).decode()

        return MapHooks(self.model, self.modules, change_of)

    def look(self, see: Callable[[str, Tensor], None]) -> None:
        """Show all maps of all batches, with their names."""

        def change_of(name: str) -> Change:
            def change(x: Tensor) -> Tensor:
                see(name, x)
                return x

            return change

        with MapHooks(self.model, self.modules, change_of):
            for batch in self._batches:
                self._output(batch)

    def _output(self, batch: Any) -> Tensor:
        outputs = [
            t.double().flatten() for t in tensors_of(run_example(self.model, batch)) if t.is_floating_point()
        ]
        if not outputs:
            raise ValueError(
                f"{type(self.model).__name__} returns no floating-point tensor, so that its error cannot be "
                "told: calibrate a model that does, such as one that returns scores"
            )
        return torch.cat(outputs)
