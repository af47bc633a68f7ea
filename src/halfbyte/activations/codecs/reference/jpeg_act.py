"""JPEG-ACT's tiles in torch operations: fixed point, DCT, quantization, zero-value coding.

The order of codes is that of native/tensor/jpeg_act_pieces.hpp: by pieces; in a piece, whole tiles first,
then those at the right edge of the maps, at the bottom, and in the corner; among these by plane, row, column
and channel.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from halfbyte.activations.codecs.maps import TILE, MapShape
from halfbyte.activations.codecs.reference.channels import channel_ranges, fixed_point_scales
from halfbyte.activations.codecs.reference.dct import factor, forward_dct, inverse_dct, round_to_integers

__all__ = ["GATE_TILES", "LEVELS", "ZIGZAG", "decode", "encode", "sample_of", "scales"]

LEVELS = 1.125 * 128
"""The code of a channel's largest magnitude, before it is clipped to 127."""

GATE_TILES = 64
"""Tiles of a sample."""

Steps = tuple[int, ...]


def _zigzag() -> Iterator[int]:
    for diagonal in range(15):
        rows = range(max(0, diagonal - 7), min(diagonal, 7) + 1)
        for row in rows if diagonal % 2 else reversed(rows):
            yield TILE * row + diagonal - row


ZIGZAG = tuple(_zigzag())
"""The place of each code in row-major order, along the zig-zag (T.81, figure A.6)."""


def scales(flat: Tensor, shape: MapShape) -> tuple[Tensor, Tensor]:
    """What a code is multiplied with to be a value, and the reverse: float32 (channels,), see
    `fixed_point_scales`.
    """
    max_abs, _ = channel_ranges(flat, shape.around_channels)
    return fixed_point_scales(max_abs, LEVELS)


def encode(
    flat: Tensor, shape: MapShape, inverse: Tensor, steps: Steps, *, nearest: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Zero-value coded tiles. Waits for the device.

    Args:
        flat: elements in the order of `shape`.
        inverse: float32 (channels,); nothing is coded of a channel where it is 0.
        steps: the quantization table, row by row.
        nearest: to round quotients to the nearest integer, not towards zero.

    Returns:
        Masks, int64 (tiles,), one bit a code; codes of each piece, counted, int64 (pieces,); the codes,
        uint8.
    """
    codes = _in_order(shape, _all_codes(flat, shape, inverse, steps, nearest))
    nonzero = codes != 0
    place = torch.arange(64, device=flat.device)
    masks = (nonzero.long() << place).sum(dim=1)
    counts = _count_pieces(shape, nonzero.sum(dim=1))
    return masks, counts, codes[nonzero].view(torch.uint8)


def decode(
    parts: tuple[Tensor, Tensor, Tensor], shape: MapShape, scale: Tensor, steps: Steps, dtype: torch.dtype
) -> Tensor:
    """The elements, flat, from what `encode` made.

    Raises:
        ValueError: the parts do not fit each other.
    """
    masks, counts, packed = parts
    nonzero = (masks.view(-1, 1) >> torch.arange(64, device=masks.device) & 1).bool()
    found = nonzero.sum(dim=1)
    if not torch.equal(_count_pieces(shape, found), counts) or int(found.sum()) != packed.numel():
        raise ValueError("packed bytes are damaged: masks, counts and codes do not fit each other")
    codes = torch.zeros(nonzero.shape, dtype=torch.int8, device=masks.device)
    codes[nonzero] = packed.view(torch.int8)
    maps = torch.empty(shape[:4], device=masks.device)
    natural = _natural(shape, codes)
    for area in _areas(shape):
        area.of_maps(maps).copy_(_values(area, area.of_tiles(natural), steps))
    return (maps * _by_channel(shape, scale)).to(dtype).view(-1)


def sample_of(flat: Tensor, shape: MapShape) -> tuple[MapShape, Tensor, Tensor]:
    """A few tiles, the same in every memory order, and as native/tensor/jpeg_act_gate.cpp takes them: their
    shape, as maps of one tile and one channel each; the channels that they are from; their elements, flat.
    """
    height, width = min(shape.height, TILE), min(shape.width, TILE)
    rows, columns = shape.height // height, shape.width // width
    images = shape.planes * shape.inner // shape.channels
    count = min(shape.tiles, GATE_TILES)
    fraction = torch.arange(1, count + 1, device=flat.device) * 0x9E3779B9 & 0xFFFFFFFF
    tile = fraction * (images * shape.channels * rows * columns) >> 32
    column, row = tile % columns * width, tile // columns % rows * height
    channel, image = tile // (columns * rows) % shape.channels, tile // (columns * rows * shape.channels)
    plane, lane = (image * shape.channels + channel, channel * 0) if shape.inner == 1 else (image, channel)
    lines = row.view(-1, 1, 1) + torch.arange(height, device=flat.device).view(-1, 1)
    places = column.view(-1, 1, 1) + torch.arange(width, device=flat.device)
    tiles = flat.view(shape[:4])[plane.view(-1, 1, 1), lines, places, lane.view(-1, 1, 1)]
    return MapShape(count, height, width, 1, count), channel, tiles.reshape(-1)


class _Area(NamedTuple):
    """Of the maps, where tiles are equal: their height and width; which rows and columns of tiles."""

    height: int
    width: int
    rows: range
    columns: range

    def of_maps(self, maps: Tensor) -> Tensor:
        """(planes, rows, columns, inner, height, width), of (planes, height, width, inner): a view."""
        rows, columns = len(self.rows), len(self.columns)
        top, left = self.rows.start * TILE, self.columns.start * TILE
        cut = maps[:, top : top + rows * self.height, left : left + columns * self.width]
        tiles = cut.view(maps.shape[0], rows, self.height, columns, self.width, maps.shape[3])
        return tiles.permute(0, 1, 3, 5, 2, 4)

    def of_tiles(self, tiles: Tensor) -> Tensor:
        """(planes, rows, columns, inner, 64), of all tiles: a view."""
        rows, columns = self.rows, self.columns
        return tiles[:, rows.start : rows.stop, columns.start : columns.stop]


def _areas(shape: MapShape) -> Iterator[_Area]:
    def spans(length: int) -> Iterator[tuple[int, range]]:
        whole, rest = divmod(length, TILE)
        if whole:
            yield TILE, range(whole)
        if rest:
            yield rest, range(whole, whole + 1)

    for (height, rows), (width, columns) in itertools.product(spans(shape.height), spans(shape.width)):
        yield _Area(height, width, rows, columns)


def _all_codes(flat: Tensor, shape: MapShape, inverse: Tensor, steps: Steps, nearest: bool) -> Tensor:
    """int8 (planes, rows, columns, inner, 64), in zig-zag order."""
    maps = flat.view(shape[:4]).float() * _by_channel(shape, inverse)
    fixed_point = torch.where(_by_channel(shape, inverse) == 0, 0.0, round_to_integers(maps.clamp(-128, 127)))
    size = (shape.planes, shape.rows, shape.columns, shape.inner, 64)
    codes = torch.zeros(size, dtype=torch.int8, device=flat.device)
    for area in _areas(shape):
        area.of_tiles(codes).copy_(_codes(area, area.of_maps(fixed_point), steps, nearest))
    return codes


def _by_channel(shape: MapShape, values: Tensor) -> Tensor:
    """One value a channel, to be broadcast over maps (planes, height, width, inner)."""
    if shape.inner == 1:
        return values.repeat(shape.planes // shape.channels).view(-1, 1, 1, 1)
    return values


def _weights(area: _Area, steps: Steps) -> tuple[Tensor, Tensor]:
    """The quantization table, and the factors that transforms leave, both float64 (height, width); on the
    CPU, for not all devices have that type.
    """
    table = torch.tensor(steps, dtype=torch.float64).view(TILE, TILE)
    left = [
        [factor(area.height, u) * factor(area.width, v) for v in range(area.width)]
        for u in range(area.height)
    ]
    return table[: area.height, : area.width], torch.tensor(left, dtype=torch.float64)


def _codes(area: _Area, tiles: Tensor, steps: Steps, nearest: bool) -> Tensor:
    """int8 (…, 64) in zig-zag order, of fixed-point codes (…, height, width)."""
    table, left = _weights(area, steps)
    coefficients = forward_dct(forward_dct(tiles, -2), -1)
    rounded = round_to_integers(coefficients * (1 / left).float().to(tiles.device)).long()
    divisor = table.long().to(tiles.device)
    magnitude = (rounded.abs() + divisor // 2) // divisor if nearest else rounded.abs() // divisor
    quotients = (magnitude * rounded.sign()).clamp(-128, 127).to(torch.int8)
    whole = torch.zeros((*tiles.shape[:-2], TILE, TILE), dtype=torch.int8, device=tiles.device)
    whole[..., : area.height, : area.width] = quotients
    return whole.flatten(-2)[..., list(ZIGZAG)]


def _values(area: _Area, codes: Tensor, steps: Steps) -> Tensor:
    """The reverse: float32 (…, height, width)."""
    table, left = _weights(area, steps)
    points = (TILE if area.height == TILE else 1) * (TILE if area.width == TILE else 1)
    place = sorted(range(64), key=ZIGZAG.__getitem__)
    whole = codes[..., place].view(*codes.shape[:-1], TILE, TILE)[..., : area.height, : area.width]
    coefficients = whole.float() * (left / points * table).float().to(codes.device)
    return round_to_integers(inverse_dct(inverse_dct(coefficients, -1), -2))


def _piece_of_tiles(shape: MapShape) -> Tensor:
    """int64 (planes, rows, 1, 1)."""
    planes, rows = shape.piece
    parts = -(-shape.rows // rows)
    return (torch.arange(shape.planes) // planes * parts).view(-1, 1, 1, 1) + (
        torch.arange(shape.rows) // rows
    ).view(-1, 1, 1)


def _order(shape: MapShape) -> Tensor:
    """Which of all tiles, counted through, comes first, second, and so on."""
    bottom = torch.arange(shape.rows).view(-1, 1, 1) >= shape.height // TILE
    right = torch.arange(shape.columns).view(-1, 1) >= shape.width // TILE
    key = 4 * _piece_of_tiles(shape) + 2 * bottom + right
    size = (shape.planes, shape.rows, shape.columns, shape.inner)
    return key.expand(size).reshape(-1).argsort(stable=True)


def _in_order(shape: MapShape, codes: Tensor) -> Tensor:
    return codes.view(-1, 64)[_order(shape).to(codes.device)]


def _natural(shape: MapShape, codes: Tensor) -> Tensor:
    tiles = torch.empty_like(codes)
    tiles[_order(shape).to(codes.device)] = codes
    return tiles.view(shape.planes, shape.rows, shape.columns, shape.inner, 64)


def _count_pieces(shape: MapShape, found: Tensor) -> Tensor:
    """Codes of each piece, from those of each tile, in order."""
    size = (shape.planes, shape.rows, shape.columns, shape.inner)
    piece = _piece_of_tiles(shape).expand(size).reshape(-1).to(found.device)
    return torch.zeros(shape.pieces, dtype=torch.int64, device=found.device).index_add_(0, piece, found)
