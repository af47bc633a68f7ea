"""Bits where they matter most, measured while training, within a budget of bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from halfbyte.activations.codecs.group_quantized import GroupQuantized
from halfbyte.activations.policy.allocation import allocate
from halfbyte.activations.policy.saved_tensor import Plan, Policy, SavedTensor, Saver
from halfbyte.activations.policy.sensitivity import Sensitivity

__all__ = ["Budget", "budget"]

_OPTIONS = (1, 2, 3, 4, 8)
_FIRST_BITS = 2  # before it is known how many bytes a step saves
_MEMORY = 0.5  # weight of earlier observations

_Key = tuple[str, tuple[Saver, ...], int]


@dataclass(slots=True)
class _Known:
    elements: int
    itemsize: int
    mask_needed: bool
    sensitivity: float | None = None  # None until observed
    bits: int | None = None  # None until allocated

    def sizes(self, group: int) -> list[int]:
        mask = (self.elements + 7) // 8 if self.mask_needed else 0
        return [
            GroupQuantized(bits, group).packed_bytes(self.elements, self.itemsize) + mask for bits in _OPTIONS
        ]


class Budget(Policy):
    """Group quantization with 1, 2, 3, 4 or 8 bits for each tensor: more for those whose error disturbs the
    gradient more.

    In every `every`th step sensitivities are observed; before the next step bits are allocated anew. Until
    then all tensors have as many bits as the ratio allows (2 when bytes are given).

    Args:
        ratio: bytes of the tensors over bytes held, > 1; more than one bit an element gives cannot be had.
        bytes: bytes held in a whole step, scales and masks included, by the tensors that policies are asked
            about. Exactly one of the two.
        every: steps from one measurement to the next, ≥ 1.
        group: elements that share a scale.

    Attributes:
        measuring: whether sensitivities are observed in this step.

    Raises:
        ValueError: an option is none of these.

    Source: ActNN (ICML 2021) and GACT (ICML 2022); here sensitivities are products of what is seen in
    ordinary steps, so none is run a second time.
    """

    measuring: bool = False

    def __init__(
        self, *, ratio: float | None = None, bytes: int | None = None, every: int = 500, group: int = 256
    ) -> None:
        if (ratio is None) == (bytes is None):
            raise ValueError(f"budget with ratio={ratio} and bytes={bytes}, expected exactly one of them")
        if ratio is not None and not ratio > 1:
            raise ValueError(f"budget with ratio={ratio}, expected a number > 1")
        if bytes is not None and bytes <= 0:
            raise ValueError(f"budget with bytes={bytes}, expected a number > 0")
        if every < 1:
            raise ValueError(f"budget with every={every}, expected a number of steps ≥ 1")
        GroupQuantized(group=group)  # checks it
        self.ratio = ratio
        self.bytes = bytes
        self.every = every
        self.group = group
        self._known: dict[_Key, _Known] = {}

    def begin_step(self, step: int, epoch: int) -> None:
        if self.measuring:
            self._allocate()
        self.measuring = step % self.every == 0

    def plan(self, saved: SavedTensor) -> Plan:
        known = self._remember(saved)
        bits = known.bits or self._first_bits(known)
        return Plan(GroupQuantized(bits, self.group), f"budget: {bits} bits")

    def watch(self) -> Sensitivity | None:
        return Sensitivity(self.observe) if self.measuring else None

    def observe(self, saved: SavedTensor, spread: float, gradient: float) -> None:
        """Note how much the error of a tensor can disturb the gradient.

        Args:
            saved: the tensor, as `plan` saw it.
            spread: how large its error is with one bit: `GroupQuantized.squared_range`, or anything
                proportional.
            gradient: ‖∂loss/∂output‖² of the node that saved it. Numbers that are not finite, as after an
                overflow under loss scaling, say nothing and are passed over.
        """
        sensitivity = spread * gradient
        if not math.isfinite(sensitivity):
            return
        known = self._remember(saved)
        before = sensitivity if known.sensitivity is None else known.sensitivity
        known.sensitivity = _MEMORY * before + (1 - _MEMORY) * sensitivity

    def state_dict(self) -> dict[str, object]:
        tensors = [
            {"path": path, "savers": [list(saver) for saver in savers], "ordinal": ordinal, **asdict(known)}
            for (path, savers, ordinal), known in self._known.items()
        ]
        return {"measuring": self.measuring, "tensors": tensors}

    def load_state_dict(self, state: dict[str, object]) -> None:
        self.measuring = bool(state["measuring"])
        self._known = {}
        for tensor in cast(list[dict[str, Any]], state["tensors"]):
            fields = dict(tensor)
            savers = tuple(Saver(*saver) for saver in fields.pop("savers"))
            key = fields.pop("path"), savers, fields.pop("ordinal")
            self._known[key] = _Known(**fields)
        self.version += 1

    def __str__(self) -> str:
        limit = f"ratio={self.ratio:g}" if self.ratio is not None else f"bytes={self.bytes}"
        return f"budget({limit})"

    def _remember(self, saved: SavedTensor) -> _Known:
        elements = saved.nbytes // saved.dtype.itemsize
        known = self._known.setdefault(
            (saved.path, saved.savers, saved.ordinal),
            _Known(elements, saved.dtype.itemsize, saved.mask_needed),
        )
        # The last batch of an epoch may be smaller: the budget is for whole ones.
        known.elements = max(known.elements, elements)
        return known

    def _first_bits(self, known: _Known) -> int:
        if self.ratio is None:
            return _FIRST_BITS
        limit = known.elements * known.itemsize / self.ratio
        fitting = [
            bits for bits, size in zip(_OPTIONS, known.sizes(self.group), strict=True) if size <= limit
        ]
        return max(fitting, default=_OPTIONS[0])

    def _allocate(self) -> None:
        known = list(self._known.values())
        sizes = [tensor.sizes(self.group) for tensor in known]
        bits = allocate(_sensitivities(known), sizes, _OPTIONS, self._budget_bytes(known))
        if bits == [tensor.bits for tensor in known]:
            return
        for tensor, own in zip(known, bits, strict=True):
            tensor.bits = own
        self.version += 1

    def _budget_bytes(self, known: Sequence[_Known]) -> float:
        if self.bytes is not None:
            return self.bytes
        assert self.ratio is not None
        return sum(tensor.elements * tensor.itemsize for tensor in known) / self.ratio


def _sensitivities(known: Sequence[_Known]) -> list[float]:
    # What was never observed is taken to be as sensitive, for its size, as what was.
    seen = [(tensor.sensitivity, tensor.elements) for tensor in known if tensor.sensitivity is not None]
    rate = sum(s for s, _ in seen) / max(1, sum(n for _, n in seen)) if seen else 1.0
    return [rate * tensor.elements if tensor.sensitivity is None else tensor.sensitivity for tensor in known]


def budget(
    *, ratio: float | None = None, bytes: int | None = None, every: int = 500, group: int = 256
) -> Budget:
    """A policy that shares out bits under a budget: see `Budget`."""
    return Budget(ratio=ratio, bytes=bytes, every=every, group=group)
