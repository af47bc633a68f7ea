"""How many images a second training has at each fidelity: X(k) = min(compute, decode(k), link / bytes(k)).

All of it is plain arithmetic over measured figures; nothing here measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import Fidelity, describe_fidelity, fidelity_mix
from halfbyte.tuning.measured import Measured

__all__ = ["Limit", "Prediction", "Throughput", "sample_bytes"]


class Limit(StrEnum):
    """What sets the pace."""

    MODEL = "model"
    DECODING = "decoding"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Prediction:
    """The pace of training at one fidelity.

    Attributes:
        fidelity: k, or a mixture {k: weight}.
        images_per_s: infinite where nothing that could limit it was measured.
        limit: what limits it; None if nothing was measured.
        count, spread: of the figure that limits it, see `Measured`; 0 and 0 if nothing was measured.
        interpolated: whether that figure comes from other fidelities than this one.
    """

    fidelity: int | dict[int, float]
    images_per_s: float
    limit: Limit | None
    count: int
    spread: float
    interpolated: bool


@dataclass(frozen=True)
class Throughput:
    """What reading, decoding and the model can do, each on its own; what is unknown limits nothing.

    They overlap (the loader reads and decodes ahead), so training runs at the pace of the slowest.

    Attributes:
        sizes: bytes a sample that fidelities 1 … L read.
        bandwidth: bytes a second that the link brings.
        decode: seconds a sample that all cores together need, at the fidelities where that was measured.
            Between two of them it is taken to be linear in bytes, outside of them proportional to bytes.
        step: seconds a sample that the model needs while it waits for no data.

    Source: PCR (VLDB 2021), section 5: training is as fast as the slower of compute and link; decoding is
    added here.
    """

    sizes: tuple[float, ...]
    bandwidth: Measured | None = None
    decode: Mapping[int, Measured] = field(default_factory=dict)
    step: Measured | None = None

    def __post_init__(self) -> None:
        unknown = [k for k in self.decode if not 1 <= k <= len(self.sizes)]
        if not self.sizes or min(self.sizes) <= 0 or unknown:
            raise ValueError(
                f"sizes {self.sizes} with decoding measured at {sorted(self.decode)}; "
                f"give a size above 0 for each fidelity from 1 on, and no measurement of other ones"
            )

    @property
    def compute(self) -> float:
        """Images a second that the model takes."""
        return 1 / self.step.value if self.step else math.inf

    def size(self, fidelity: Fidelity) -> float:
        """Bytes a sample."""
        return self._mean(fidelity, lambda k: self.sizes[k - 1])

    def link(self, fidelity: Fidelity) -> float:
        """Images a second that the link brings."""
        return self.bandwidth.value / self.size(fidelity) if self.bandwidth else math.inf

    def decoding(self, fidelity: Fidelity) -> float:
        """Images a second that the cores decode."""
        return 1 / self._mean(fidelity, lambda k: self.decode_at(k).value) if self.decode else math.inf

    def supply(self, fidelity: Fidelity) -> float:
        """Images a second that come, however many the model takes."""
        return min(self.link(fidelity), self.decoding(fidelity))

    def supply_spread(self, fidelity: Fidelity) -> float:
        """How much that varied, see `Measured.spread`."""
        return Throughput(self.sizes, self.bandwidth, self.decode).predict(fidelity).spread

    def decode_at(self, k: int) -> Measured:
        """Decoding seconds a sample at one fidelity, as measured or as read off between measurements.

        Raises:
            ValueError: nothing was measured.
        """
        if k in self.decode:
            return self.decode[k]
        if not self.decode:
            raise ValueError("no decoding was measured; measure at one fidelity at least")
        at = self.sizes[k - 1]
        points = sorted((self.sizes[other - 1], self.decode[other].value, other) for other in self.decode)
        largest, slowest, _ = points[-1]
        if at > largest:
            value = slowest * at / largest
        else:
            value = float(np.interp(at, [0.0, *(p[0] for p in points)], [0.0, *(p[1] for p in points)]))
        below = [other for size, _, other in points if size <= at][-1:]
        above = [other for size, _, other in points if size > at][:1]
        beside = [self.decode[other] for other in below + above]
        return Measured(value, min(b.count for b in beside), max(b.spread for b in beside))

    def predict(self, fidelity: Fidelity) -> Prediction:
        """The pace of training, what limits it, and how well that is known."""
        paces = {
            Limit.MODEL: self.compute,
            Limit.DECODING: self.decoding(fidelity),
            Limit.LINK: self.link(fidelity),
        }
        limit = min(paces, key=lambda name: paces[name])
        used = self._used(fidelity)
        figures = {
            Limit.MODEL: [self.step],
            Limit.DECODING: [self.decode_at(k) for k in used] if self.decode else [None],
            Limit.LINK: [self.bandwidth],
        }[limit]
        known = [figure for figure in figures if figure is not None]
        return Prediction(
            fidelity=describe_fidelity(fidelity_mix(fidelity, len(self.sizes))),
            images_per_s=paces[limit],
            limit=limit if known else None,
            count=min((figure.count for figure in known), default=0),
            spread=max((figure.spread for figure in known), default=0.0),
            interpolated=limit is Limit.DECODING and any(k not in self.decode for k in used),
        )

    def _used(self, fidelity: Fidelity) -> list[int]:
        weights = fidelity_mix(fidelity, len(self.sizes)).weights
        return [k for k, weight in enumerate(weights, start=1) if weight > 0]

    def _mean(self, fidelity: Fidelity, of: Callable[[int], float]) -> float:
        weights = fidelity_mix(fidelity, len(self.sizes)).weights
        return math.fsum(weights[k - 1] * of(k) for k in self._used(fidelity))


def sample_bytes(dataset: Dataset) -> tuple[float, ...]:
    """Mean bytes a sample that each fidelity reads, 1 … L."""
    count = max(1, len(dataset))
    return tuple(max(1, dataset.bytes_at(k)) / count for k in range(1, dataset.num_levels + 1))
