"""The DCT along channels, of which a mask keeps some frequencies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from halfbyte.activations.codecs import code_blocks
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.channel_rows import put_rows, take_rows
from halfbyte.activations.codecs.channels import around_channels
from halfbyte.activations.codecs.dtypes import check_float
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.uniform import quantize, split_parts, step_for

__all__ = ["ChannelDct", "frequency_energies", "restored", "transformed"]

_GROUPS = (4, 8, 16)
_LEAST_BITS, _MOST_BITS = 2, 8
_WORTH = 0.95
"""The share of the bytes without the transform that those with it must stay below."""


@dataclass(frozen=True)
class ChannelDct(Codec):
    """Channels in groups, each position of a group transformed by a DCT along its channels. Coefficients of
    the frequencies in a mask are rounded to multiples of one step and coded as by `NearZero`; other
    frequencies take nothing. For maps (N, C, H, W), tokens (B, T, C), and whatever has channels where `Sfpr`
    takes them to be.

    Where the transform would not save 5 % over the same without it, it is left out: mostly so for ReLU maps
    of trained networks, whose zeros it would smear, and whose channels are in no order. `why` of the packed
    tensor tells.

    Error bound: the transform is orthonormal, so the root mean square error is at most that of leaving out
    the other frequencies plus step / 2, and the rounding of the tensor's own type. With m the largest
    magnitude of all coefficients and elements, step = m / 2^(bits - 1). Tensors without negative elements
    come back without. Tensors whose m is below 1e-35 become zero. A channel that holds NaN, Inf or values
    beyond 1e37 is kept exact, and counts as 0 for the others of its group.

    Args:
        group: channels that are transformed together: 4, 8 or 16. The last group may be smaller, and its DCT
            then is too.
        bits: of the largest code, 2 to 8.
        keep: which frequencies are kept, from 0 up: a bool for each, or an integer whose bit k is set if
            frequency k is. None: all. A smaller last group keeps those of them that it has.

    Raises:
        ValueError: an option is not one of these.

    Source: after Shi et al., "Transform-based feature map compression for CNN inference" (ISCAS 2021, arXiv
    2106.12850), which transforms along channels with masks. Mask and layout of bits are ours, as the paper's
    could not be read.
    """

    group: int = 8
    bits: int = 8
    keep: int | Sequence[bool] | None = None

    fixed_rate = False

    def __post_init__(self) -> None:
        if self.group not in _GROUPS:
            raise ValueError(f"ChannelDct: group is {self.group}, expected 4, 8 or 16")
        if not _LEAST_BITS <= self.bits <= _MOST_BITS:
            raise ValueError(f"ChannelDct: bits is {self.bits}, expected {_LEAST_BITS} to {_MOST_BITS}")
        object.__setattr__(self, "keep", _as_mask(self.keep, self.group))

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        check_float(self, x)
        layout = Layout(x)
        shape = around_channels(layout, None)
        rows, exact = take_rows(layout.flat(x), shape)
        coefficients = transformed(rows, self.group)
        step = step_for(torch.cat([rows, coefficients]), 1 << (self.bits - 1))
        signed = bool((rows < 0).any())
        plain = quantize(rows, step).view(-1)
        codes = quantize(coefficients, step)[self._kept(len(rows), rows.device)].view(-1)
        before = code_blocks.num_bytes(plain, signed=signed)
        after = code_blocks.num_bytes(codes, signed=True)
        if after <= _WORTH * before:
            coded, why = code_blocks.encode(codes, signed=True), ""
        else:
            coded = code_blocks.encode(plain, signed=signed)
            why = f"DCT does not pay ({after} bytes, {before} without)"
        return Packed(self, layout, (step, *coded, *exact), detail=(shape, signed, not why), why=why)

    def decode(self, packed: Packed) -> Tensor:
        layout, (shape, signed, is_transformed) = packed.layout, packed.detail
        step, codes, exact = split_parts(packed.parts)
        channels = shape[1]
        if not is_transformed:
            rows = code_blocks.decode(codes, layout.numel, signed=signed) * step
        else:
            kept = self._kept(channels, step.device)
            positions = layout.numel // max(channels, 1)
            coefficients = step.new_zeros(channels, positions)
            whole = code_blocks.decode(codes, len(kept) * positions, signed=True)
            coefficients[kept] = whole.view(len(kept), positions) * step
            rows = restored(coefficients, self.group)
            if not signed:
                rows.clamp_min_(0)
        return layout.restore(put_rows(rows, shape, layout.dtype, exact))

    def _kept(self, channels: int, device: torch.device) -> Tensor:
        """The rows of coefficients that are kept."""
        assert isinstance(self.keep, int)
        rows = [row for row in range(channels) if self.keep >> row % self.group & 1]
        return torch.tensor(rows, dtype=torch.int64, device=device)

    def __str__(self) -> str:
        assert isinstance(self.keep, int)
        kept, group = self.keep.bit_count(), self.group
        mask = "" if kept == group else f", {kept} of {group} frequencies"
        return f"ChannelDct({group} channels, {self.bits} bits{mask})"


def frequency_energies(x: Tensor, group: int) -> Tensor:
    """What each frequency has of Σ x²: float32 (group,). Channels that are kept exact count as 0."""
    layout = Layout(x)
    rows, _ = take_rows(layout.flat(x), around_channels(layout, None))
    energies = rows.new_zeros(group)
    places = torch.arange(len(rows), device=rows.device) % group
    return energies.index_add_(0, places, transformed(rows, group).square().sum(1))


def transformed(rows: Tensor, group: int) -> Tensor:
    """Orthonormal DCT of type II along rows, in groups of so many: row g · group + k is frequency k of group
    g.

    Args:
        rows: float32 (channels, positions).
        group: of rows; the last one may be smaller.
    """
    return _by_group(rows, group, inverse=False)


def restored(coefficients: Tensor, group: int) -> Tensor:
    """The reverse of `transformed`."""
    return _by_group(coefficients, group, inverse=True)


def _by_group(rows: Tensor, group: int, *, inverse: bool) -> Tensor:
    groups = len(rows) // group
    whole = groups * group
    parts = [rows[:whole].view(groups, group, rows.shape[1]), rows[None, whole:]]
    out = []
    for part in parts:
        if part.numel() > 0:
            matrix = _matrix(part.shape[1]).to(rows.device)
            with torch.autocast(rows.device.type, enabled=False):
                out.append(((matrix.t() if inverse else matrix) @ part).flatten(0, 1))
    return torch.cat(out) if out else rows.clone()


@cache
def _matrix(points: int) -> Tensor:
    """Row k is the k-th basis vector: float32 (points, points)."""
    i = torch.arange(points, dtype=torch.float64)
    waves = torch.cos(math.pi * (2 * i + 1) * i.unsqueeze(1) / (2 * points))
    waves[0] *= math.sqrt(0.5)
    return (waves * math.sqrt(2 / points)).to(torch.float32)


def _as_mask(keep: int | Sequence[bool] | None, group: int) -> int:
    everything = (1 << group) - 1
    if keep is None:
        return everything
    if not isinstance(keep, int):
        if len(keep) != group:
            raise ValueError(f"ChannelDct: keep has {len(keep)} entries, expected {group}")
        keep = sum(1 << k for k, is_kept in enumerate(keep) if is_kept)
    if not 0 < keep <= everything:
        raise ValueError(f"ChannelDct: keep is {keep}, expected 1 to {everything}: a bit for each frequency")
    return keep
