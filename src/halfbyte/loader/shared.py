"""Settings that live workers see change: the epoch and the fidelity, in memory shared between processes."""

from __future__ import annotations

from multiprocessing.context import get_spawning_popen
from multiprocessing.sharedctypes import RawArray
from typing import Any

from halfbyte.loader.fidelity import FidelityMix

__all__ = ["SharedSettings"]


class SharedSettings:
    """One epoch number and one fidelity mixture, shared by a data set and all its DataLoader workers.

    Anonymous shared memory: forked workers inherit it, spawned ones receive it, nothing has a name that could
    outlive a crash. Any other kind of copy (deepcopy, pickle to a file) gets values of its own.
    """

    def __init__(self, mix: FidelityMix, epoch: int = 0) -> None:
        self._epoch = RawArray("q", [epoch])
        self._asked = RawArray("q", [0])
        self._weights = RawArray("d", mix.weights)

    @property
    def epoch(self) -> int:
        return int(self._epoch[0])

    @epoch.setter
    def epoch(self, value: int) -> None:
        self._epoch[0] = value
        self._asked[0] = 0

    def count_in_epoch(self, count: int) -> int:
        """Add to what was asked for in this epoch (samples, iterations) by all processes; returns the sum.

        Additions at the same moment may be lost: it is good for a warning, not for a count.
        """
        self._asked[0] += count
        return int(self._asked[0])

    @property
    def mix(self) -> FidelityMix:
        return FidelityMix(tuple(self._weights))

    @mix.setter
    def mix(self, value: FidelityMix) -> None:
        self._weights[:] = value.weights

    def __getstate__(self) -> dict[str, Any]:
        if get_spawning_popen() is not None:
            return {"shared": (self._epoch, self._weights, self._asked)}
        return {"copied": (self.mix, self.epoch)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "shared" in state:
            self._epoch, self._weights, self._asked = state["shared"]
        else:
            self.__init__(*state["copied"])  # type: ignore[misc]
