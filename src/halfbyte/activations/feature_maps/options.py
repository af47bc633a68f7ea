"""What each codec would make of each map: its bytes, its error, and what that does to the model's output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from torch import Tensor

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.codecs.channel_dct import ChannelDct, frequency_energies
from halfbyte.activations.feature_maps.count import MapCount
from halfbyte.activations.feature_maps.trial import Trial

__all__ = ["MapOptions", "measure"]

_PROBED = 0.01
_DROPPED = 0.01
"""The share of a map's energy that frequencies may have which a mask drops."""


@dataclass
class MapOptions:
    """The choices for one map.

    Attributes:
        codecs: to choose from.
        counts: what each made of the map.
        sensitivity: squared relative error of the model's output, for one of this map.
    """

    codecs: list[Codec]
    counts: list[MapCount] = field(default_factory=list)
    sensitivity: float = 0.0

    def probe(self) -> int:
        """The codec whose error is nearest to 1 %, in the logarithm: enough to be seen in the output, and so
        little that the output's error grows with it.
        """
        return min(
            range(len(self.codecs)), key=lambda i: abs(math.log((self.counts[i].error + 1e-12) / _PROBED))
        )


def measure(trial: Trial, candidates: Sequence[Codec]) -> dict[str, MapOptions]:
    """Try all codecs on all maps: one pass over the batches, and one over the first of them for each map, to
    see what the output makes of its error.

    A `ChannelDct` that keeps all frequencies is also tried with those only that a map has.
    """
    options: dict[str, MapOptions] = {}

    def try_all(name: str, x: Tensor) -> None:
        if name not in options:
            codecs = _with_masks(candidates, x)
            options[name] = MapOptions(codecs, [MapCount() for _ in codecs])
        for codec, count in zip(options[name].codecs, options[name].counts, strict=True):
            packed = codec.encode(x)
            count.add(x, packed, packed.decode())

    trial.look(try_all)
    for name, option in options.items():
        probed = option.probe()
        error = trial.run({name: option.codecs[probed]}, batches=1)
        option.sensitivity = error / max(option.counts[probed].error, 1e-12)
    return options


def _with_masks(candidates: Sequence[Codec], x: Tensor) -> list[Codec]:
    """The candidates, and each `ChannelDct` also without the frequencies that are weakest in a map."""
    codecs = list(candidates)
    for codec in candidates:
        if isinstance(codec, ChannelDct):
            energies = frequency_energies(x, codec.group)
            order = energies.argsort()
            dropped = order[energies[order].cumsum(0) <= _DROPPED * energies.sum()].tolist()
            keep = [k not in dropped for k in range(codec.group)]
            if dropped and any(keep):
                codecs.append(replace(codec, keep=keep))
    return codecs
