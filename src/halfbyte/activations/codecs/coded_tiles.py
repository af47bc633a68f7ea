"""Tiles of feature maps, transformed, quantized and coded, natively where possible: what `JpegAct` keeps.

Elements are flat, in the order of a `MapShape`: float32, bfloat16 or float16. Quantization tables are 64
steps, row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import memory
from halfbyte.activations.codecs.kernels import ELEMENTS, num_threads, runs_natively
from halfbyte.activations.codecs.maps import MapShape
from halfbyte.activations.codecs.reference import jpeg_act as reference

__all__ = ["Zvc", "check_part", "decode", "encode", "scales"]

Steps = tuple[int, ...]


class Zvc(NamedTuple):
    """Tiles in zero-value coding.

    Attributes:
        masks: int64 (tiles,): bit i says whether the i-th code, along the zig-zag, is not 0.
        counts: int64 (pieces,): how many these are in each piece.
        codes: uint8: they themselves, in two's complement.
    """

    masks: Tensor
    counts: Tensor
    codes: Tensor


def scales(flat: Tensor, shape: MapShape) -> tuple[Tensor, Tensor, bool]:
    """The fixed point of each channel. Waits for the device.

    Returns:
        Scales and their inverses, float32 (channels,): NaN and 0 for a channel that holds NaN or Inf, 0 and 0
        for one of zeros; whether all channels are finite.
    """
    if not runs_natively(flat):
        scale, inverse = reference.scales(flat, shape)
        return scale, inverse, not bool(scale.isnan().any())
    scale = flat.new_empty(shape.channels, dtype=torch.float32)
    inverse = torch.empty_like(scale)
    all_finite = _native.jpeg_act_scales(
        flat.data_ptr(), ELEMENTS[flat.dtype], shape, num_threads(), scale.data_ptr(), inverse.data_ptr()
    )
    return scale, inverse, all_finite


def encode(flat: Tensor, shape: MapShape, inverse: Tensor, steps: Steps, *, nearest: bool) -> Zvc:
    """All tiles. Waits for the device.

    Args:
        flat: the elements.
        shape: of the maps.
        inverse: float32 (channels,), as from `scales`; nothing is coded of a channel where it is 0.
        steps: the quantization table.
        nearest: to round quotients to the nearest integer, not towards zero.
    """
    if not runs_natively(flat):
        return Zvc(*reference.encode(flat, shape, inverse, steps, nearest=nearest))
    threads = num_threads()
    masks = flat.new_empty(shape.tiles, dtype=torch.int64)
    counts = flat.new_empty(shape.pieces, dtype=torch.int64)
    num_codes = _native.jpeg_act_encode(
        *(flat.data_ptr(), ELEMENTS[flat.dtype], shape, steps, nearest, threads),
        *(inverse.data_ptr(), masks.data_ptr(), counts.data_ptr()),
    )
    codes = memory.empty(num_codes, torch.uint8)
    _native.jpeg_act_gather(shape, threads, counts.data_ptr(), codes.data_ptr())
    return Zvc(masks, counts, codes)


def decode(tiles: Zvc, shape: MapShape, scale: Tensor, steps: Steps, dtype: torch.dtype) -> Tensor:
    """The elements, flat, from what `encode` made.

    Raises:
        ValueError: it did not make these tiles.
    """
    check_part(scale, "scales", torch.float32, shape.channels)
    check_part(tiles.masks, "masks", torch.int64, shape.tiles)
    check_part(tiles.counts, "counts", torch.int64, shape.pieces)
    check_part(tiles.codes, "codes", torch.uint8, tiles.codes.numel())
    if not runs_natively(scale):
        return reference.decode(tiles, shape, scale, steps, dtype)
    flat = memory.empty(shape.numel, dtype)
    fits = _native.jpeg_act_decode(
        *(flat.data_ptr(), ELEMENTS[dtype], shape, steps, tiles.codes.numel(), num_threads()),
        *(scale.data_ptr(), *(part.data_ptr() for part in tiles)),
    )
    if not fits:
        raise ValueError("packed bytes are damaged: masks, counts and codes do not fit each other")
    return flat


def check_part(part: Tensor, name: str, dtype: torch.dtype, numel: int) -> None:
    """Raise ValueError unless the part is contiguous, of this type and number of elements."""
    if part.dtype != dtype or part.numel() != numel or not part.is_contiguous():
        found = f"{tuple(part.shape)} of {part.dtype}, expected ({numel},) of {dtype}"
        raise ValueError(f"packed bytes are damaged: {name}: {found}")
