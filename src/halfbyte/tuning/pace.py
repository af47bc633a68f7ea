"""What a run shows of its link, its cores and its model as it goes on; smoothed, and agreed by all ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from halfbyte.loader.dataset import Dataset
from halfbyte.loader.fidelity import Moment
from halfbyte.ranks import worst_over_ranks
from halfbyte.tuning.measured import Measured
from halfbyte.tuning.throughput import Throughput, sample_bytes
from halfbyte.tuning.window import Window

__all__ = ["Pace"]

_WEIGHT = 0.5  # of the latest look against all before it
_SLACK = 1.1  # by how much noise may seem to contradict what is remembered of the model
_SHORTEST_STEP = 1e-9  # seconds a sample, where the run does nothing but wait


class Pace:
    """Figures of a run, from one look to the next.

    What the model takes is seen exactly only while the run hardly waits. While it waits, the busy part of its
    time is a lower bound (work queued on a GPU is not in it) and all of its time an upper one; what is
    remembered holds as long as it lies between the two.

    Args:
        dataset: what is read.
        stall: share of the time up to which a run hardly waits.

    Attributes:
        step: seconds a sample of the model; None before the first look.
    """

    def __init__(self, dataset: Dataset, *, stall: float) -> None:
        self._sizes = sample_bytes(dataset)
        self._payloads = _payloads(dataset)
        self._stall = stall
        self._window = Window()
        self._link: Measured | None = None  # seconds a byte: the mean is then led by the slow times
        self._decode: dict[int, Measured] = {}
        self.step: Measured | None = None

    @property
    def model(self) -> Throughput:
        """The pace at each fidelity, by what is known so far."""
        link = self._link
        bandwidth = None if link is None else Measured(1 / link.value, link.count, link.spread)
        return Throughput(self._sizes, bandwidth, dict(self._decode), self.step)

    def note(self, moment: Moment) -> None:
        """Add what came since the moment before."""
        self._window.note(moment)

    def look(self) -> float:
        """Learn from what came since the last look on all ranks, which call this at the same step.

        Returns:
            The share of that time that the run waited for batches, on the rank that waited most.
        """
        own = _figures(self._window.take(), self._payloads)
        waiting, whole, link, samples, *decode = worst_over_ranks(own)
        count = max(1, round(samples))
        if link > 0:
            self._link = _smooth(self._link, link, count)
        for k, seconds in enumerate(decode, start=1):
            if seconds > 0:
                self._decode[k] = _smooth(self._decode.get(k), seconds, count)
        if whole > 0:
            self._learn_step(waiting, whole, count)
        return waiting

    def _learn_step(self, waiting: float, whole: float, count: int) -> None:
        busy = max(whole * (1 - waiting), _SHORTEST_STEP)
        if self.step is not None and waiting <= self._stall:
            self.step = _smooth(self.step, busy, count)
        elif self.step is None or not busy <= self.step.value <= _SLACK * whole:
            self.step = Measured(busy, count)

    def state_dict(self) -> dict[str, Any]:
        """All that is known, as JSON values."""
        return {
            "window": dict(self._window.sums),
            "link": _to_json(self._link),
            "decode": {str(k): _to_json(figure) for k, figure in self._decode.items()},
            "step": _to_json(self.step),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._window.resume(state["window"])
        self._link, self.step = _from_json(state["link"]), _from_json(state["step"])
        decode = {int(k): _from_json(values) for k, values in state["decode"].items()}
        self._decode = {k: figure for k, figure in decode.items() if figure is not None}


def _figures(sums: Mapping[str, float], payloads: Sequence[float]) -> list[float]:
    """Of a window: share of waiting, seconds a sample, seconds a byte, samples, decoding seconds a sample of
    each fidelity. But for the count, more is worse; 0 stands for what was not measured.
    """
    seconds, samples = sums.get("seconds", 0.0), sums.get("samples", 0.0)
    waiting = min(1.0, sums.get("stall_seconds", 0.0) / seconds) if seconds > 0 else 0.0
    link = sums["read_seconds"] / sums["bytes_read"] if sums.get("bytes_read") else 0.0
    decode = [0.0] * len(payloads)
    if sums.get("decoded_bytes"):
        # Records read ahead still have the fidelity before, so bytes tell which one this was.
        size = sums["decoded_bytes"] / sums["decoded"]
        nearest = min(range(len(payloads)), key=lambda i: abs(payloads[i] - size))
        decode[nearest] = sums["decode_seconds"] / sums["decoded"] * payloads[nearest] / size
    return [waiting, seconds / samples if samples else 0.0, link, samples, *decode]


def _payloads(dataset: Dataset) -> list[float]:
    """Mean bytes a sample of what is decoded, at each fidelity: without headers and tables."""
    count = max(1, len(dataset))
    return [
        sum(level.bytes for level in dataset.levels[:k]) / count for k in range(1, dataset.num_levels + 1)
    ]


def _smooth(before: Measured | None, value: float, count: int) -> Measured:
    return Measured(value, count) if before is None else before.then(value, count, weight=_WEIGHT)


def _to_json(figure: Measured | None) -> list[float] | None:
    return None if figure is None else [figure.value, figure.count, figure.spread]


def _from_json(values: Sequence[float] | None) -> Measured | None:
    return None if values is None else Measured(values[0], int(values[1]), values[2])
