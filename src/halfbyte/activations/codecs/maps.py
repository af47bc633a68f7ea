"""Feature maps as they lie in memory, and how they are cut into tiles."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from halfbyte.activations.codecs.layout import Layout

__all__ = ["PIECE_TILES", "TILE", "MapShape", "Maps", "maps_of"]

TILE = 8
"""Lines and columns of a tile."""

PIECE_TILES = 512
"""Tiles of a piece, which one thread works on, or a few less: as in native/tensor/jpeg_act_pieces.hpp."""

PLANAR = (0, 1, 2, 3)
CHANNELS_LAST = (0, 2, 3, 1)


class MapShape(NamedTuple):
    """Maps as a contiguous `(planes, height, width, inner)` array, as in native/tensor/jpeg_act.hpp.

    Maps (N, C, H, W) have N·C planes and inner = 1, or with channels_last N planes and inner = C.
    """

    planes: int
    height: int
    width: int
    inner: int
    channels: int

    @property
    def numel(self) -> int:
        return self.planes * self.height * self.width * self.inner

    @property
    def rows(self) -> int:
        """Of tiles, whole or not."""
        return -(-self.height // TILE)

    @property
    def columns(self) -> int:
        return -(-self.width // TILE)

    @property
    def tiles(self) -> int:
        return self.planes * self.rows * self.columns * self.inner

    @property
    def around_channels(self) -> tuple[int, int, int]:
        """`(outer, channels, inner)` of the elements."""
        together = self.height * self.width if self.inner == 1 else 1
        return self.numel // (self.channels * together), self.channels, together

    @property
    def piece(self) -> tuple[int, int]:
        """Planes, and rows of tiles, of a piece: several whole planes, or some rows of one."""
        tiles_of_row = self.columns * self.inner
        tiles_of_plane = self.rows * tiles_of_row
        if tiles_of_plane <= PIECE_TILES:
            return PIECE_TILES // tiles_of_plane, self.rows
        return 1, max(PIECE_TILES // tiles_of_row, 1)

    @property
    def pieces(self) -> int:
        planes, rows = self.piece
        return -(-self.planes // planes) * -(-self.rows // rows)


class Maps(NamedTuple):
    """How the elements of a tensor (N, C, H, W) are taken as maps.

    Attributes:
        layout: of the tensor.
        size: its N, C, H and W, as far as they are stored: 1 where it is expanded.
        memory: these four dimensions, outermost in memory first.
        taken: the order that they are taken in.
        shape: of the maps.
    """

    layout: Layout
    size: tuple[int, ...]
    memory: tuple[int, ...]
    taken: tuple[int, ...]
    shape: MapShape

    def take(self, x: Tensor) -> Tensor:
        """The elements of the tensor, flat: a view where memory has them in this order."""
        return _reordered(self.layout.flat(x), self.size, self.memory, self.taken)

    def put(self, flat: Tensor) -> Tensor:
        """The tensor with these elements. Shares memory with `flat` where that has the order of the tensor's
        memory.
        """
        return self.layout.restore(_reordered(flat, self.size, self.taken, self.memory))


def maps_of(layout: Layout, *, planar: bool = False) -> Maps | None:
    """Maps in the order of memory if that is NCHW or channels_last, else (or with `planar`) as NCHW. None for
    a tensor of other than 4 dimensions, an empty one, and one whose height or width is expanded.
    """
    if len(layout.size) != 4 or layout.numel == 0:
        return None
    size = tuple(layout.size[d] if d in layout.order else 1 for d in PLANAR)
    n, c, height, width = size
    if (height, width) != layout.size[2:]:
        return None
    memory = _memory_order(layout, size)
    if memory == CHANNELS_LAST and not planar:
        return Maps(layout, size, memory, memory, MapShape(n, height, width, c, c))
    return Maps(layout, size, memory, PLANAR, MapShape(n * c, height, width, 1, c))


def _memory_order(layout: Layout, size: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions of one element could be anywhere; they are where NCHW or channels_last has them, if that is
    possible.
    """
    if layout.order == PLANAR:
        return PLANAR
    order = [d for d in layout.order if size[d] > 1]
    for usual in (PLANAR, CHANNELS_LAST):
        if order == [d for d in usual if size[d] > 1]:
            return usual
    return (*(d for d in PLANAR if d not in order), *order)


def _reordered(flat: Tensor, size: tuple[int, ...], have: tuple[int, ...], want: tuple[int, ...]) -> Tensor:
    if have == want:
        return flat
    return flat.view([size[d] for d in have]).permute([have.index(d) for d in want]).reshape(-1)
