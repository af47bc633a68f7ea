"""Indices of pools in torch operations; what they are made of is said in native/tensor/pool_indices.hpp."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte.activations.codecs.reference.group_quantized import pack, unpack

__all__ = ["FARTHEST_PLACE", "MOST_PLACES", "decode", "encode"]

MOST_PLACES = 16
FARTHEST_PLACE = 4095


def encode(flat: Tensor, *, windows: int, repeat: int) -> tuple[Tensor, Tensor, Tensor] | None:
    """Bases, places and codes, or None where there are too many places.

    Args:
        flat: int64, shape (n,), n a multiple of windows · repeat.
        windows: places of the window in a plane.
        repeat: elements that follow each other and are of one window.

    Returns:
        The least index of every window, int64 (windows,). Distances from it, ascending and filled up with
        zeros, int64 (16,). Which one each element has, two in a byte, uint8 (⌈n / 2⌉,).
    """
    planes = flat.view(-1, windows, repeat)
    bases = planes.amin((0, 2))
    distances = planes - bases.view(1, windows, 1)
    places: Tensor = distances.unique()  # type: ignore[no-untyped-call]
    # Beyond 2^63 a distance is negative.
    if len(places) > MOST_PLACES or int(places.min()) < 0 or int(places.max()) > FARTHEST_PLACE:
        return None
    codes = torch.searchsorted(places, distances).view(-1).to(torch.uint8)
    filled = torch.zeros(MOST_PLACES, dtype=torch.int64, device=flat.device)
    filled[: len(places)] = places
    return bases, filled, pack(codes, 4)


def decode(bases: Tensor, places: Tensor, codes: Tensor, *, count: int, repeat: int) -> Tensor:
    """What `encode` was given: int64, shape (count,)."""
    distances = places[unpack(codes, count, 4).to(torch.int64)].view(-1, len(bases), repeat)
    return (distances + bases.view(1, -1, 1)).view(-1)
