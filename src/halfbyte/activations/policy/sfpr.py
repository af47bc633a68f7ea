"""Scaled fixed point for everything."""

from __future__ import annotations

from dataclasses import dataclass

from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.policy.roles import channel_of
from halfbyte.activations.policy.saved_tensor import Plan, Policy, SavedTensor

__all__ = ["SfprPolicy", "sfpr"]


@dataclass(frozen=True)
class SfprPolicy(Policy):
    """See `sfpr`."""

    bits: int = 8
    headroom: float = 1.125

    def __post_init__(self) -> None:
        self._codec(None)

    def plan(self, saved: SavedTensor) -> Plan:
        return Plan(self._codec(channel_of(saved)))

    def _codec(self, channel: int | None) -> Sfpr:
        return Sfpr(bits=self.bits, headroom=self.headroom, channel=channel)


def sfpr(bits: int = 8, headroom: float = 1.125) -> SfprPolicy:
    """Every value in fixed point of 8 or 4 bits, scaled by its channel: 4 or 8 times fewer bytes than
    float32, at the same rate for every tensor. The plain choice, and with 8 bits the one that changes
    gradients least.

    Args:
        bits: 8 or 4.
        headroom: more than 1 clips the largest values of a channel for finer steps; see `Sfpr`.

    Raises:
        ValueError: an option is not as described.

    Source: JPEG-ACT (ISCA 2020) §III.
    """
    return SfprPolicy(bits, headroom)
