"""JPEG-ACT: feature maps as quantized coefficients of the DCT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from halfbyte.activations.codecs import coded_tiles, run_lengths, tiled_rows
from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.channels import keep_channels, put_channels_back
from halfbyte.activations.codecs.coded_tiles import Zvc
from halfbyte.activations.codecs.dtypes import check_float
from halfbyte.activations.codecs.gate import estimate
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.maps import MapShape, maps_of
from halfbyte.activations.codecs.quantization_tables import checked_table, steps
from halfbyte.activations.codecs.run_lengths import RunLengths
from halfbyte.activations.codecs.sfpr import Sfpr

__all__ = ["JpegAct"]

_SMALLEST = 4
"""Maps of fewer lines or columns leave the DCT nothing to do."""


@dataclass(frozen=True)
class JpegAct(Codec):
    """Feature maps (N, C, H, W) as quantized DCT coefficients, 5 to 20 times smaller than float32 where they
    are smooth.

    Every channel is put in signed 8-bit fixed point, as by `Sfpr(headroom=1.125)`, and cut into tiles of 8 by
    8. A tile is transformed, coefficients are rounded to integers and divided by the entries of a table, and
    what is not 0 then is kept. Zeros of the tensor do not stay zero: keep a mask beside it where their place
    matters.

    Maps whose height or width is no multiple of 8 end in smaller tiles, which have a DCT of their own size.
    That beats padding: with optH and optL, inputs of batch normalization (of a small ResNet trained on
    photographs) took 6 and 12 % more bytes with the edge repeated at 28 by 28, 11 and 19 % at 14 by 14, 16
    and 22 % at 7 by 7, for the same error; zeros, means and mirroring did no better.

    A tensor for which a sample of tiles says that the DCT would save less than 10 % over fixed point alone
    (white maps, sparse ones) is handed to `Sfpr`, and so is what is not a map: `why` of the packed tensor
    tells. A channel that holds NaN or Inf is kept exact.

    In units of a channel's step (its largest magnitude / 144), the root mean square error of a tile is at
    most that of the table's entries + 0.5, or half of that + 1.5 when rounding to nearest. What is clipped
    adds to that: codes end at 127 (88 % of the largest magnitude), and so do quotients, which only matters
    with entries below 8.

    Args:
        table: "optH" (small), "optL" (accurate), "optsH" and "optsL" (their published powers of two), "jpeg1"
            to "jpeg100" (JPEG's luminance table at a quality), or eight rows of eight integers from 1 to 255.
        quantize: "shift" divides by powers of two, the nearest to the table's entries; "divide" by the
            entries.
        rounding: of quotients: "truncate" towards zero, as the paper; "nearest" takes more bytes for less
            error.
        coder: "zvc" keeps one bit for each coefficient and a byte for each that is not 0; "rle" has JPEG's
            run-length and Huffman coding instead: on smooth maps half the bytes or less, for several times
            the time.
        tiling: "planes" cuts each map by itself; "rows" does as the paper, for comparison: maps are stacked
            to one image, padded with zeros at the top and left, in which tiles can mix channels. Slower.
        gate: whether to hand tensors over to `Sfpr` when the DCT does not pay.

    Raises:
        ValueError: an option is not one of these.

    Source: Evans, Liu and Aamodt, "JPEG-ACT: accelerating deep learning via transform-based lossy
    compression" (ISCA 2020), §III: SFPR, DCT, SH ("shift") or DIV ("divide"), ZVC or RLE.
    """

    table: str | Sequence[Sequence[int]] = "optH"
    quantize: Literal["shift", "divide"] = "shift"
    rounding: Literal["truncate", "nearest"] = "truncate"
    coder: Literal["zvc", "rle"] = "zvc"
    tiling: Literal["planes", "rows"] = "planes"
    gate: bool = True

    fixed_rate = False

    def __post_init__(self) -> None:
        table = checked_table(self.table)
        if not isinstance(self.table, str):
            object.__setattr__(self, "table", table)
        choices = {
            "quantize": ("shift", "divide"),
            "rounding": ("truncate", "nearest"),
            "coder": ("zvc", "rle"),
            "tiling": ("planes", "rows"),
        }
        for option, allowed in choices.items():
            if (got := getattr(self, option)) not in allowed:
                raise ValueError(f"JpegAct: {option} is {got!r}, expected {' or '.join(map(repr, allowed))}")

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """What coefficients are divided by, row by row."""
        return steps(checked_table(self.table), self.quantize)

    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        check_float(self, x)
        layout = Layout(x)
        maps = maps_of(layout, planar=self.tiling == "rows")
        if maps is None or min(maps.size[2:]) < _SMALLEST:
            return _hand_over(x, is_sparse=_is_sparse(layout.flat(x)), why="not a map")
        flat, shape = maps.take(x), maps.shape
        scale, inverse, all_finite = coded_tiles.scales(flat, shape)
        if self.gate:
            nearest = self.rounding == "nearest"
            bits = estimate(flat, shape, inverse, self.steps, nearest=nearest, coder=self.coder)
            if not bits.dct_pays:
                return _hand_over(x, is_sparse=bits.is_sparse, why=f"DCT does not pay ({bits})")
        parts = (scale, *self._encode_tiles(flat, shape, inverse))
        if not all_finite:
            parts += keep_channels(flat, shape.around_channels, scale.isnan())
        return Packed(self, layout, parts)

    def decode(self, packed: Packed) -> Tensor:
        maps = maps_of(packed.layout, planar=self.tiling == "rows")
        if maps is None:
            raise ValueError(f"{self} made no maps of a tensor {tuple(packed.layout.size)}")
        scale, *coded = packed.parts[: 4 if self.coder == "zvc" else 5]
        exact = packed.parts[1 + len(coded) :]
        flat = self._decode_tiles(coded, maps.shape, scale, packed.layout.dtype)
        if exact:
            put_channels_back(flat, maps.shape.around_channels, *exact)
        return maps.put(flat)

    def _encode_tiles(self, flat: Tensor, shape: MapShape, inverse: Tensor) -> tuple[Tensor, ...]:
        if self.tiling == "rows":
            flat, shape, inverse = tiled_rows.image_of(flat, shape, inverse)
        tiles = coded_tiles.encode(flat, shape, inverse, self.steps, nearest=self.rounding == "nearest")
        return tiles if self.coder == "zvc" else run_lengths.encode(tiles, shape)

    def _decode_tiles(
        self, coded: Sequence[Tensor], shape: MapShape, scale: Tensor, dtype: torch.dtype
    ) -> Tensor:
        tiled = tiled_rows.image_shape(shape) if self.tiling == "rows" else shape
        tiles = Zvc(*coded) if self.coder == "zvc" else run_lengths.decode(RunLengths(*coded), tiled)
        if self.tiling == "planes":
            return coded_tiles.decode(tiles, shape, scale, self.steps, dtype)
        image = coded_tiles.decode(tiles, tiled, scale.new_ones(1), self.steps, torch.float32)
        return tiled_rows.maps_of_image(image, shape, scale, dtype)

    def __str__(self) -> str:
        options = [self.table if isinstance(self.table, str) else "own table"]
        for option in ("quantize", "rounding", "coder", "tiling"):
            if getattr(self, option) != type(self).__dataclass_fields__[option].default:
                options.append(getattr(self, option))
        return f"JpegAct({', '.join(options)})"


def _hand_over(x: Tensor, *, is_sparse: bool, why: str) -> Packed:
    packed = Sfpr(coder="zvc" if is_sparse else "none").encode(x)
    packed.why = why
    return packed


def _is_sparse(flat: Tensor) -> bool:
    """Whether so many elements are 0 that a bit each for the others' place is worth it, by a sample."""
    sample = flat[:: max(flat.numel() // 4096, 1) | 1]
    return int(sample.count_nonzero()) < 7 / 8 * sample.numel()
