"""Where a pool found its maxima."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import bits, kernels, memory
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.indices import Indices
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import pool_indices as reference

__all__ = ["PoolIndices"]

_INDICES = Indices()
_FEWEST_PLANES = 16  # below, the bases of the windows would cost more than they save


class _Maps(NamedTuple):
    """How maps lie in memory: windows in a plane, and elements in a row that are of one window."""

    windows: int
    repeat: int


@dataclass(frozen=True)
class PoolIndices(Codec):
    """Indices of maxima, as max pools give them: int64, shape (N, C, …), into the plane of the input.

    Where a window lies is the same for all images and channels, and where the maximum lies within it is one
    of few places: four bits an element, and an index for each place of the window. Exact. Windows of more
    than 16 places, few planes and other tensors of integers are encoded as `Indices`.

    Source: GIST (ISCA 2018) §3 holds such places in 4 bits too.
    """

    lossless = True
    fixed_rate = False

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        layout = Layout(x)
        maps = _maps(layout)
        parts = None if maps is None else _encode(layout.flat(x), maps)
        return _INDICES.encode(x) if parts is None else Packed(self, layout, parts, detail=maps)

    def decode(self, packed: Packed) -> Tensor:
        layout, maps = packed.layout, packed.detail
        bases, places, codes = packed.parts
        _check(bases, torch.int64, maps.windows)
        _check(places, torch.int64, reference.MOST_PLACES)
        _check(codes, torch.uint8, (layout.numel + 1) // 2)
        if not bits.on_cpu(codes):
            flat = reference.decode(bases, places, codes, count=layout.numel, repeat=maps.repeat)
            return layout.restore(flat)
        flat = memory.empty(layout.numel, torch.int64)
        _native.decode_pool_indices(
            *(bases.data_ptr(), places.data_ptr(), codes.data_ptr()),
            *(layout.numel, *maps, flat.data_ptr(), kernels.num_threads()),
        )
        return layout.restore(flat)

    def __str__(self) -> str:
        return "PoolIndices"


def _maps(layout: Layout) -> _Maps | None:
    """None where the tensor is no batch of maps of int64, or has few of them."""
    size, order = layout.size, layout.order
    if layout.dtype != torch.int64 or len(size) < 3 or layout.numel == 0:
        return None
    windows = math.prod(size[2:])
    if layout.numel // windows < _FEWEST_PLANES:
        return None
    dims = tuple(range(len(size)))
    if order == dims:
        return _Maps(windows, 1)
    return _Maps(windows, size[1]) if order == (0, *dims[2:], 1) else None


def _encode(flat: Tensor, maps: _Maps) -> tuple[Tensor, Tensor, Tensor] | None:
    if not bits.on_cpu(flat):
        return reference.encode(flat, windows=maps.windows, repeat=maps.repeat)
    count = flat.numel()
    bases = torch.empty(maps.windows, dtype=torch.int64)
    places = torch.empty(reference.MOST_PLACES, dtype=torch.int64)
    codes = memory.empty((count + 1) // 2, torch.uint8)
    fits = _native.encode_pool_indices(
        *(flat.data_ptr(), count, *maps),
        *(bases.data_ptr(), places.data_ptr(), codes.data_ptr(), kernels.num_threads()),
    )
    return (bases, places, codes) if fits else None


def _check(part: Tensor, dtype: torch.dtype, numel: int) -> None:
    if part.dtype != dtype or part.numel() != numel:
        found = f"{part.numel()} of {part.dtype}, expected {numel} of {dtype}"
        raise ValueError(f"packed bytes are damaged: {found}")
