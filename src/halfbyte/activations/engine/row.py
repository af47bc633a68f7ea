"""Sums over saved tensors: of one kind, or of many together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import torch

from halfbyte.activations.policy.saved_tensor import Saver

__all__ = [
    "ACTIVATIONS",
    "COMPILED",
    "EXCLUDED",
    "READ",
    "SMALL",
    "UNKNOWN",
    "Kind",
    "Row",
    "Sums",
    "ratio_of",
]

Kind = Literal["packed", "held", "exact", "model"]
"""What became of a tensor:

- packed: it was encoded.
- held: somebody outside holds its memory, so it was kept as it is: an encoding would have freed nothing.
- exact: kept as it is by rule or by policy; `Row.why` says which.
- model: parameters, buffers and their casts; these are no activations and are not counted as such.
"""

ACTIVATIONS: tuple[Kind, ...] = ("packed", "held", "exact")
"""The kinds that make up what a model saves; its own state is not among them."""

# The `why` of exact tensors that something can be done about; SMALL is below the least size worth packing.
SMALL = "small"
COMPILED = "saved by compiled code"
EXCLUDED = "excluded"
READ = "read by backward before it was packed"
UNKNOWN = "saver not known when the context ended"


class Sums:
    """Bytes, seconds and errors, added up.

    Attributes:
        calls: tensors.
        before, after: bytes, as saved and as held.
        pack_seconds: wall seconds spent encoding.
        unpacks: decodings; more than `calls` where several nodes read one tensor.
        unpack_seconds: wall seconds spent decoding.
        samples: tensors whose error was measured.
        relative_sum, relative_max: of the relative L2 errors ‖x - x'‖ / ‖x‖ measured.
        largest: the largest absolute error measured.
    """

    __slots__ = (
        "after",
        "before",
        "calls",
        "largest",
        "pack_seconds",
        "relative_max",
        "relative_sum",
        "samples",
        "unpack_seconds",
        "unpacks",
    )

    def __init__(self) -> None:
        self.clear()

    @staticmethod
    def of(parts: Iterable[Sums]) -> Sums:
        """The sum of several."""
        total = Sums()
        for part in parts:
            total.add(part)
        return total

    def clear(self) -> None:
        """Start again from zero."""
        self.calls = self.before = self.after = self.unpacks = self.samples = 0
        self.pack_seconds = self.unpack_seconds = 0.0
        self.relative_sum = self.relative_max = self.largest = 0.0

    def add(self, other: Sums) -> None:
        """Add another's sums to these."""
        self.calls += other.calls
        self.before += other.before
        self.after += other.after
        self.pack_seconds += other.pack_seconds
        self.unpacks += other.unpacks
        self.unpack_seconds += other.unpack_seconds
        self.samples += other.samples
        self.relative_sum += other.relative_sum
        self.relative_max = max(self.relative_max, other.relative_max)
        self.largest = max(self.largest, other.largest)

    @property
    def ratio(self) -> float:
        """Bytes before over bytes after; see `ratio_of`."""
        return ratio_of(self.before, self.after)

    @property
    def relative_mean(self) -> float | None:
        """The mean relative error; None if none was measured."""
        return self.relative_sum / self.samples if self.samples else None

    def to_dict(self) -> dict[str, Any]:
        """The sums as JSON values; null for what is not known or not finite."""
        measured = self.samples > 0
        return {
            "calls": self.calls,
            "before": self.before,
            "after": self.after,
            "ratio": _finite(self.ratio),
            "pack_seconds": self.pack_seconds,
            "unpacks": self.unpacks,
            "unpack_seconds": self.unpack_seconds,
            "relative_error": _finite(self.relative_mean),
            "relative_error_max": _finite(self.relative_max) if measured else None,
            "largest_error": _finite(self.largest) if measured else None,
        }


class Row(Sums):
    """What became of the tensors that the same nodes saved in the same module.

    Attributes:
        path: the module; "" outside of any.
        savers: who saved them.
        codec: what holds them now, with its options; "" where they were kept as they are.
        kind, why: the treatment, and the reason where there is one to tell.
        dtype: their type; None where it is not known.
        size: their shape, if they all have the same; else None.
    """

    __slots__ = ("codec", "dtype", "kind", "path", "savers", "size", "why")

    def __init__(
        self,
        path: str,
        savers: tuple[Saver, ...],
        codec: str,
        *,
        kind: Kind = "packed",
        why: str = "",
        dtype: torch.dtype | None = None,
        size: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__()
        self.path = path
        self.savers = savers
        self.codec = codec
        self.kind = kind
        self.why = why
        self.dtype = dtype
        self.size = size

    def before_at(self, bytes_per_value: int) -> int:
        """Bytes before, had every floating-point value had this many: 4 for float32, 2 for bfloat16. Integers
        and booleans stay as they are, and a type that is not known is taken for float32.
        """
        if self.dtype is None:
            return self.before * bytes_per_value // 4
        if not self.dtype.is_floating_point:
            return self.before
        return self.before * bytes_per_value // self.dtype.itemsize

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON values."""
        return {
            "path": self.path,
            "savers": [list(saver) for saver in self.savers],
            "codec": self.codec,
            "kind": self.kind,
            "why": self.why,
            "dtype": None if self.dtype is None else str(self.dtype).removeprefix("torch."),
            "size": None if self.size is None else list(self.size),
            **super().to_dict(),
        }


def ratio_of(before: float, after: float) -> float:
    """How many times fewer bytes: 1 where there was nothing, infinite where nothing is left."""
    if after:
        return before / after
    return math.inf if before else 1.0


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
