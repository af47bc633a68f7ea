"""A model whose maps are compressed on their way from layer to layer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from torch import Tensor, nn

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.feature_maps.count import MapCount, total_of
from halfbyte.activations.feature_maps.hooks import Change, MapHooks
from halfbyte.activations.feature_maps.report import draw_report

__all__ = ["Comparison", "FeatureMaps"]


class Comparison(NamedTuple):
    """What an evaluation gave with the maps as they are, and with compressed ones."""

    plain: float
    compressed: float

    @property
    def change(self) -> float:
        """By how much the compressed maps are better; below 0 where they are worse."""
        return self.compressed - self.plain


class FeatureMaps:
    """What `feature_maps` attached to a model: a handle as those of torch's hooks, that counts.

    Attributes:
        codecs: for each map its codec, by the name of its module; one codec where all have the same.
        counts: what was counted of each map, in the order in which they first came.
    """

    def __init__(
        self,
        model: nn.Module,
        modules: Mapping[nn.Module, str],
        codecs: Codec | Mapping[str, Codec | None],
    ) -> None:
        self.codecs = codecs
        self.counts: dict[str, MapCount] = {}
        self._model = model
        self._passing = False
        self._keys = 0
        self._hooks = MapHooks(model, modules, self._change_of)

    def remove(self) -> None:
        """Take all hooks away: the model computes again what it did before. Counts stay."""
        self._hooks.remove()

    def __enter__(self) -> FeatureMaps:
        return self

    def __exit__(self, *failure: object) -> None:
        self.remove()

    def codec_of(self, name: str) -> Codec | None:
        """The codec of a map; None where it passes as it is."""
        if isinstance(self.codecs, Codec):
            return self.codecs
        return self.codecs.get(name, self.codecs.get(name.partition("#")[0]))

    def compare(self, evaluate: Callable[[nn.Module], float]) -> Comparison:
        """Evaluate the model without compression and with it.

        Args:
            evaluate: runs the model and returns a number: its accuracy, for example. Called twice.
        """
        with self.paused():
            plain = float(evaluate(self._model))
        return Comparison(plain, float(evaluate(self._model)))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A block in which maps pass as they are, and are not counted."""
        before, self._passing = self._passing, True
        try:
            yield
        finally:
            self._passing = before

    def reset(self) -> None:
        """Forget what was counted."""
        self.counts = {}

    def total(self) -> MapCount:
        """The sum over all maps."""
        return total_of(self.counts.values())

    def report(self) -> str:
        """A table of all maps: codec, bytes in 8 bits and as held, ratios over 8 bits and float32, error."""
        return draw_report(self.counts, {name: self.codec_of(name) for name in self.counts})

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values: sums, and a row for each map with its codec's options."""
        rows = []
        for name, count in self.counts.items():
            codec = self.codec_of(name)
            rows.append({"name": name, "codec": codec and codec.to_dict(), **count.to_dict()})
        return {"total": self.total().to_dict(), "maps": rows}

    def to_json(self) -> str:
        """The same as a JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def _change_of(self, name: str) -> Change | None:
        codec = None if self._passing else self.codec_of(name)
        return None if codec is None else partial(self._pack_and_unpack, name, codec)

    def _pack_and_unpack(self, name: str, codec: Codec, x: Tensor) -> Tensor:
        packed = codec.encode(x, key=self._keys)
        self._keys += 1
        decoded = packed.decode()
        self.counts.setdefault(name, MapCount()).add(x, packed, decoded)
        return decoded
