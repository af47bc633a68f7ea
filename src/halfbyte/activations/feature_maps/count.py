"""What was counted of the maps of a layer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from halfbyte.activations.codecs.base import Packed

__all__ = ["MapCount", "total_of"]


@dataclass
class MapCount:
    """Sums over all maps that went through.

    Attributes:
        elements: so many bytes are maps of 8 bits; float32 takes four times that.
        held: bytes packed.
        squared_error: Σ (x' - x)², over the elements that are finite.
        squared_sum: Σ x² of these.
    """

    elements: int = 0
    held: int = 0
    squared_error: float = 0.0
    squared_sum: float = 0.0

    def add(self, x: Tensor, packed: Packed, decoded: Tensor) -> None:
        """Count a map that was packed and unpacked."""
        self.elements += x.numel()
        self.held += packed.nbytes
        error, total = _squared_sums(x, decoded)
        if not math.isfinite(total):
            finite = x.isfinite()
            error, total = _squared_sums(x.where(finite, 0), decoded.where(finite, 0))
        self.squared_error += error
        self.squared_sum += total

    @property
    def over_8_bits(self) -> float:
        """Bytes of maps of 8 bits, over those held."""
        return math.inf if self.held == 0 else self.elements / self.held

    @property
    def error(self) -> float:
        """‖x' - x‖² / ‖x‖²."""
        return self.squared_error / self.squared_sum if self.squared_sum > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "bytes_8_bits": self.elements,
            "bytes_float32": 4 * self.elements,
            "bytes_held": self.held,
            "ratio_over_8_bits": self.over_8_bits,
            "ratio_over_float32": 4 * self.over_8_bits,
            "squared_relative_error": self.error,
        }


def _squared_sums(x: Tensor, decoded: Tensor) -> tuple[float, float]:
    """Σ (x' - x)² and Σ x², in float64."""
    error, total = (
        float(torch.linalg.vector_norm(t, dtype=torch.float64)) for t in (decoded.float() - x.float(), x)
    )
    return error**2, total**2


def total_of(counts: Iterable[MapCount]) -> MapCount:
    """Their sum."""
    total = MapCount()
    for count in counts:
        for field in fields(MapCount):
            setattr(total, field.name, getattr(total, field.name) + getattr(count, field.name))
    return total
