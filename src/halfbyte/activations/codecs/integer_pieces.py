"""Elements as integers, coded by pieces: what `ErrorBounded` keeps."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import memory
from halfbyte.activations.codecs.grid import Grid
from halfbyte.activations.codecs.kernels import ELEMENTS, num_threads, runs_natively
from halfbyte.activations.codecs.reference import error_bounded as reference

__all__ = ["Coder", "Format", "decode", "encode"]

Coder: TypeAlias = Literal["huffman", "fixed"]

_PIECE = 1 << 16
_CODERS = {"huffman": 0, "fixed": 1}

Lags = tuple[int, ...]


class Format(NamedTuple):
    """How elements are coded.

    Attributes:
        dtype: of the elements: float32, bfloat16 or float16.
        coder: of the integers.
        grid: what elements are rounded to.
    """

    dtype: torch.dtype
    coder: Coder
    grid: Grid


def encode(flat: Tensor, form: Format, lags: Lags, *, fewest: int) -> tuple[tuple[Tensor, ...], Lags]:
    """Code elements. Waits for the device.

    Args:
        flat: in memory order, shape (n,).
        form: how.
        lags: at most three, of which the first so many are used as take the fewest bits, by a sample.
        fewest: how many at least.

    Returns:
        Parts: the bytes of each piece, int32 (⌈n / 65536⌉,), and these bytes; on devices without native
        kernels, without Huffman coding, those of the reference instead. The lags that were used.
    """
    if form.coder == "fixed" and not runs_natively(flat):
        return reference.encode(flat, form.grid, lags, fewest=fewest)
    device, flat = flat.device, flat.cpu()
    count, address = flat.numel(), flat.data_ptr()
    used = _native.error_bounded_lags(address, count, *_numbers(form, lags), fewest)
    lags = lags[:used]
    sizes = torch.empty(-(-count // _PIECE), dtype=torch.int32)
    threads = num_threads()
    num_bytes, _ = _native.error_bounded_encode(
        address, count, *_numbers(form, lags), threads, sizes.data_ptr()
    )
    stream = memory.empty(num_bytes, torch.uint8)
    _native.error_bounded_gather(stream.data_ptr(), threads)
    return (sizes.to(device), stream.to(device)), lags


def decode(parts: tuple[Tensor, ...], count: int, form: Format, lags: Lags) -> Tensor:
    """The elements, shape (count,), from what `encode` made with these lags.

    Raises:
        ValueError: it did not make these parts.
    """
    device = parts[0].device
    if form.coder == "fixed" and not runs_natively(torch.empty(0, dtype=form.dtype, device=device)):
        return reference.decode(parts, count, form.dtype, form.grid, lags)
    if len(parts) != 2:
        raise ValueError(f"packed bytes are damaged: {len(parts)} parts, expected 2")
    sizes, stream = (part.cpu() for part in parts)
    _check(sizes, "sizes", torch.int32, -(-count // _PIECE))
    _check(stream, "bytes", torch.uint8, stream.numel())
    flat = memory.empty(count, form.dtype)
    sound = _native.error_bounded_decode(
        *(flat.data_ptr(), count, *_numbers(form, lags), num_threads()),
        *(sizes.data_ptr(), stream.data_ptr(), stream.numel()),
    )
    if not sound:
        raise ValueError(f"packed bytes are damaged: they are not of {count} elements")
    return flat.to(device)


def _numbers(form: Format, lags: Lags) -> tuple[int, int, Grid, Lags]:
    """As the native functions take them."""
    return ELEMENTS[form.dtype], _CODERS[form.coder], form.grid, (*lags, 0, 0, 0)[:3]


def _check(part: Tensor, name: str, dtype: torch.dtype, numel: int) -> None:
    if part.dtype != dtype or part.numel() != numel or not part.is_contiguous():
        found = f"{tuple(part.shape)} of {part.dtype}, expected ({numel},) of {dtype}"
        raise ValueError(f"packed bytes are damaged: {name}: {found}")
