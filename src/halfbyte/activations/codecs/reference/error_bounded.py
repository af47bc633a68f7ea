"""Error-bounded coding in torch operations; the formulas are those of native/tensor/error_bounded.hpp."""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte.activations.codecs.grid import Grid
from halfbyte.activations.codecs.reference import block_bits

__all__ = ["decode", "dequantize", "difference", "encode", "integrate", "quantize"]

_GREATEST = 2.0**22
"""Of the magnitude of an integer."""


def encode(
    flat: Tensor, grid: Grid, lags: tuple[int, ...], *, fewest: int
) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """Elements as blocks of integers. Waits for the device.

    Args:
        flat: float32, bfloat16 or float16, shape (n,).
        grid: what they are rounded to.
        lags: of which the first so many are used as take the fewest bytes, at least `fewest`.

    Returns:
        Parts: heads and words of `block_bits.pack`; the places of outliers, int64, and these. The lags used.
    """
    integers, fits = quantize(flat, grid)
    choices = [integers]
    for lag in lags:
        choices.append(difference(choices[-1], lag))
    sizes = [block_bits.num_words(choice) for choice in choices]
    best = min(range(min(fewest, len(lags)), len(choices)), key=sizes.__getitem__)
    places = (~fits).nonzero().view(-1)
    return (*block_bits.pack(choices[best]), places, flat[places]), lags[:best]


def decode(
    parts: tuple[Tensor, ...], count: int, dtype: torch.dtype, grid: Grid, lags: tuple[int, ...]
) -> Tensor:
    """What `encode` was given: shape (count,), of this type.

    Raises:
        ValueError: the parts do not fit each other, or the number of elements.
    """
    if len(parts) != 4:
        raise ValueError(f"packed bytes are damaged: {len(parts)} parts, expected 4")
    heads, words, places, outliers = parts
    integers = block_bits.unpack(heads, words, count)
    for lag in lags:
        integers = integrate(integers, lag)
    flat = dequantize(integers, grid, dtype)
    sound = places.dtype == torch.int64 and outliers.dtype == dtype and places.shape == outliers.shape
    if not sound or bool(((places < 0) | (places >= count)).any()):
        raise ValueError(f"packed bytes are damaged: outliers are not among {count} elements")
    flat[places] = outliers
    return flat


def quantize(flat: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
    """Integers, int32 (n,), 0 for outliers; and which elements are none, bool (n,)."""
    x = flat.to(torch.float32).abs()
    nearest = (x * grid.inverse + (0.5 if grid.shift else 0.0)).round()
    held = _held(nearest, grid, flat.dtype)
    fits = ((x - held).abs() <= grid.bound) & (nearest <= _GREATEST)
    if grid.shift:
        fits &= (held > 0) == (x > 0)
    signed = torch.where(flat.signbit(), -nearest, nearest)
    return torch.where(fits, signed, 0).to(torch.int32), fits


def dequantize(integers: Tensor, grid: Grid, dtype: torch.dtype) -> Tensor:
    """The numbers of the grid that they stand for, in this type."""
    held = _held(integers.to(torch.float32).abs(), grid, dtype).to(dtype)
    return torch.where(integers < 0, -held, held)


def _held(magnitudes: Tensor, grid: Grid, dtype: torch.dtype) -> Tensor:
    """What is held for these integers >= 0: float32, rounded to the type."""
    values = magnitudes * grid.step - torch.where(magnitudes > 0, grid.shift, 0.0)
    return values.to(dtype).to(torch.float32)


def difference(integers: Tensor, lag: int) -> Tensor:
    """What each is above the one so far before it; the first are above 0. int32, which wraps around."""
    result = integers.clone()
    result[lag:] -= integers[:-lag]
    return result


def integrate(differences: Tensor, lag: int) -> Tensor:
    """The reverse of `difference`."""
    count = differences.numel()
    lines = torch.nn.functional.pad(differences, (0, -count % lag)).view(-1, lag)
    return lines.cumsum(0, dtype=torch.int32).view(-1)[:count]
