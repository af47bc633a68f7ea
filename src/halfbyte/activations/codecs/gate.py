"""Whether the DCT is worth it, by a sample of tiles."""

from __future__ import annotations

from typing import Literal, NamedTuple

from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import coded_tiles, run_lengths
from halfbyte.activations.codecs.kernels import ELEMENTS, runs_natively
from halfbyte.activations.codecs.maps import MapShape
from halfbyte.activations.codecs.reference import jpeg_act as reference

__all__ = ["Estimate", "estimate"]

_WORTH = 0.9
"""The share of the bytes of fixed point that the DCT must stay below: it costs more time, and more error."""


class Estimate(NamedTuple):
    """Bits an element that a tensor would take.

    Attributes:
        dct: coded as coefficients.
        fixed_point: as fixed-point codes, one for each element.
        fixed_point_zvc: as those of elements that are not 0, and a mask.
    """

    dct: float
    fixed_point: float
    fixed_point_zvc: float

    @property
    def is_sparse(self) -> bool:
        return self.fixed_point_zvc < self.fixed_point

    @property
    def dct_pays(self) -> bool:
        return self.dct <= _WORTH * min(self.fixed_point, self.fixed_point_zvc)

    def __str__(self) -> str:
        least = min(self.fixed_point, self.fixed_point_zvc)
        return f"{self.dct:.1f} bits an element, fixed point {least:.1f}"


def estimate(
    flat: Tensor,
    shape: MapShape,
    inverse: Tensor,
    steps: tuple[int, ...],
    *,
    nearest: bool,
    coder: Literal["zvc", "rle"],
) -> Estimate:
    """What a tensor would take, from 64 of its tiles, the same in every memory order. Takes microseconds, and
    waits for the device.

    Args:
        flat: elements in the order of `shape`.
        inverse, steps, nearest: as of `coded_tiles.encode`.
        coder: of the coefficients.
    """
    if runs_natively(flat):
        elements, nonzeros, num_bytes = _native.jpeg_act_estimate(
            *(flat.data_ptr(), ELEMENTS[flat.dtype], shape, steps),
            *(nearest, coder == "rle", inverse.data_ptr()),
        )
    else:
        sample, channels, tiles = reference.sample_of(flat, shape)
        coded = coded_tiles.encode(tiles, sample, inverse[channels], steps, nearest=nearest)
        stream = coded.codes if coder == "zvc" else run_lengths.encode(coded, sample).stream
        elements, nonzeros, num_bytes = tiles.numel(), int(tiles.count_nonzero()), stream.numel()
    masks = 64 * shape.tiles / flat.numel() if coder == "zvc" else 0
    return Estimate(8 * num_bytes / elements + masks, 8, 8 * nonzeros / elements + 1)
