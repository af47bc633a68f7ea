"""A few bits for everything."""

from __future__ import annotations

import math
from dataclasses import dataclass

from halfbyte.activations.codecs.group_quantized import GroupQuantized
from halfbyte.activations.policy.saved_tensor import Plan, Policy, SavedTensor

__all__ = ["GroupQuantizedPolicy", "group_quantized"]

# Tensors of fewer groups hold next to nothing of a network's bytes, and often what many values were summed up
# to.
_FEWEST_GROUPS = 16


@dataclass(frozen=True)
class GroupQuantizedPolicy(Policy):
    """See `group_quantized`."""

    bits: int = 2
    group: int = 256
    stochastic: bool = True

    def __post_init__(self) -> None:
        self._codec()

    def plan(self, saved: SavedTensor) -> Plan:
        if math.prod(saved.size) < _FEWEST_GROUPS * self.group:
            return Plan(None, "few values")
        if saved.saved_by("SoftmaxBackward0", "SafeSoftmaxBackward0"):
            return Plan(GroupQuantized(8, self.group, self.stochastic), "a softmax")
        return Plan(self._codec())

    def _codec(self) -> GroupQuantized:
        return GroupQuantized(bits=self.bits, group=self.group, stochastic=self.stochastic)


def group_quantized(bits: int = 2, group: int = 256, stochastic: bool = True) -> GroupQuantizedPolicy:
    """Every value in a few bits between the least and the greatest of its group: with 2 bits about 15 times
    fewer bytes than float32, at the same rate for every tensor. Gradients get noisier, but with random
    rounding not biased through linear layers.

    Tensors of fewer than 16 groups stay exact; results of softmax have 8 bits, as their small values count.

    Args:
        bits: 1, 2, 3, 4 or 8.
        group: values that share a range, in memory order: 32 to 1024, a multiple of 32.
        stochastic: round at random, so that values are right on the average; else to the nearest.

    Raises:
        ValueError: an option is not as described.

    Source: ActNN (ICML 2021), GACT (ICML 2022).
    """
    return GroupQuantizedPolicy(bits, group, stochastic)
