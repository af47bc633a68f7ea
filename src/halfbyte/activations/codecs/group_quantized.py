"""A few bits an element, with a scale for every few elements."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import kernels, memory
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.dtypes import check_float
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import group_quantized as reference

__all__ = ["GroupQuantized"]

_BITS = (1, 2, 3, 4, 8)
_LEAST_GROUP, _MOST_GROUP = 32, 1024


@dataclass(frozen=True)
class GroupQuantized(Codec):
    """Elements in memory order, in groups with a least element and a step of their own.

    Error bound: with step = (greatest - least) / (2^bits - 1) of the group, rounded up to bfloat16 (by less
    than 1 %), |x' - x| ≤ step when rounding is stochastic, and then the expectation of x' is x within
    2⁻¹⁷ of a step and its variance at most step²/4; ≤ step / 2 otherwise; in both cases up to the rounding of
    float32 and of the tensor's type. The least element of a group is exact, and so are groups of one value.
    Steps below 2⁻¹²⁶ count as 0: all elements of such a group become its least.

    Groups that hold NaN or infinity, or whose greatest could overflow, are kept exact beside the rest. On
    devices other than the CPU, where asking for them would mean waiting, all their elements become NaN.

    Args:
        bits: of an element: 1, 2, 3, 4 or 8.
        group: elements that share a scale: a multiple of 32 up to 1024. A scale costs 6 bytes (4 bytes for
            types of 16 bits), so 256 adds 0.19 bits to each element.
        stochastic: whether to round up or down at random, so that errors cancel in sums.

    Raises:
        ValueError: an option is none of these.

    Source: ActNN (ICML 2021), per-group quantization; GACT (ICML 2022).
    """

    bits: int = 2
    group: int = 256
    stochastic: bool = True

    def __post_init__(self) -> None:
        if self.bits not in _BITS:
            raise ValueError(f"GroupQuantized with bits={self.bits}, expected one of {_BITS}")
        if self.group % _LEAST_GROUP != 0 or not _LEAST_GROUP <= self.group <= _MOST_GROUP:
            raise ValueError(
                f"GroupQuantized with group={self.group}, expected a multiple of {_LEAST_GROUP} up to "
                f"{_MOST_GROUP}"
            )

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        check_float(self, x)
        layout = Layout(x)
        flat = layout.flat(x)
        if not kernels.runs_natively(flat):
            return Packed(self, layout, self._encode_in_torch(flat, key))
        codes, least, steps, kept = self._encode_natively(flat, key)
        if kept == 0:
            return Packed(self, layout, (codes, least, steps))
        exact = flat[self._kept_elements(steps, layout.numel)]
        why = f"{kept} groups with NaN, infinity or nearly infinite numbers are kept exact"
        return Packed(self, layout, (codes, least, steps, exact), why=why)

    def decode(self, packed: Packed) -> Tensor:
        layout = packed.layout
        codes, least, steps, exact = _parts(packed)
        if not kernels.runs_natively(least):
            flat = reference.decode(codes, least, steps, count=layout.numel, bits=self.bits, group=self.group)
            return layout.restore(flat)
        flat, kept = self._decode_natively(codes, least, steps, layout)
        if kept != 0 or exact is not None:
            self._restore(flat, steps, exact)
        return layout.restore(flat)

    def packed_bytes(self, count: int, itemsize: int) -> int:
        """Bytes of so many elements of so many bytes each, if none has to be kept exact."""
        return (count * self.bits + 7) // 8 + self._num_groups(count) * (itemsize + 2)

    def squared_range(self, packed: Packed) -> Tensor:
        """Σ (greatest - least)² of each element's group, as far as it is coded: the variance of the decoded
        tensor is at most this / 4 / (2^bits - 1)², for any bits. float32, shape (), on the tensor's device.
        """
        steps = packed.parts[2].to(torch.float32).nan_to_num(nan=0) * ((1 << self.bits) - 1)
        unfilled = len(steps) * self.group - packed.layout.numel
        return steps.square().sum() * self.group - steps[-1:].square().sum() * unfilled

    def __str__(self) -> str:
        return f"GroupQuantized({self.bits} bits{'' if self.stochastic else ', nearest'})"

    def _encode_in_torch(self, flat: Tensor, key: int) -> tuple[Tensor, Tensor, Tensor]:
        return reference.encode(flat, bits=self.bits, group=self.group, stochastic=self.stochastic, key=key)

    def _encode_natively(self, flat: Tensor, key: int) -> tuple[Tensor, Tensor, Tensor, int]:
        count = flat.numel()
        groups = self._num_groups(count)
        codes = memory.empty((count * self.bits + 7) // 8, torch.uint8)
        least = torch.empty(groups, dtype=flat.dtype)
        steps = torch.empty(groups, dtype=torch.bfloat16)
        kept = _native.encode_groups(
            flat.data_ptr(),
            kernels.ELEMENTS[flat.dtype],
            count,
            self.bits,
            self.group,
            self.stochastic,
            key,
            codes.data_ptr(),
            least.data_ptr(),
            steps.data_ptr(),
            kernels.num_threads(),
        )
        return codes, least, steps, kept

    def _decode_natively(
        self, codes: Tensor, least: Tensor, steps: Tensor, layout: Layout
    ) -> tuple[Tensor, int]:
        flat = memory.empty(layout.numel, layout.dtype)
        kept = _native.decode_groups(
            codes.data_ptr(),
            codes.numel(),
            least.data_ptr(),
            least.numel(),
            steps.data_ptr(),
            steps.numel(),
            kernels.ELEMENTS[layout.dtype],
            layout.numel,
            self.bits,
            self.group,
            flat.data_ptr(),
            kernels.num_threads(),
        )
        return flat, kept

    def _num_groups(self, count: int) -> int:
        return -(-count // self.group)

    def _kept_elements(self, steps: Tensor, count: int) -> Tensor:
        groups = steps.isnan().nonzero()
        elements = (groups * self.group + torch.arange(self.group)).view(-1)
        return elements[elements < count]

    def _restore(self, flat: Tensor, steps: Tensor, exact: Tensor | None) -> None:
        elements = self._kept_elements(steps, flat.numel())
        found = 0 if exact is None else exact.numel()
        if exact is None or found != elements.numel():
            raise ValueError(
                f"packed bytes are damaged: {found} elements are kept exact, expected {elements.numel()}"
            )
        flat[elements] = exact


def _parts(packed: Packed) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    dtype = packed.layout.dtype
    expected = [torch.uint8, dtype, torch.bfloat16, dtype]
    found = [part.dtype for part in packed.parts]
    if len(found) not in (3, 4) or found != expected[: len(found)]:
        raise ValueError(f"packed bytes are damaged: parts of types {found}, expected {expected[:3]}")
    codes, least, steps, *exact = packed.parts
    return codes, least, steps, exact[0] if exact else None
