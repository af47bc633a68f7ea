"""Fixed-point codes of channels, natively where that is possible: what `Sfpr` keeps of a tensor.

Elements are flat, in memory order: a contiguous `(outer, channels, inner)` array of float32, bfloat16 or
float16. Parts begin with the scale of each channel, float32 (channels,), NaN where the channel is not finite,
and with whether codes are unsigned, uint8 (1,).
"""

from __future__ import annotations

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import memory
from halfbyte.activations.codecs.kernels import ELEMENTS, num_threads, runs_natively
from halfbyte.activations.codecs.reference import sfpr as reference

__all__ = ["decode", "decode_zvc", "encode", "encode_zvc"]

Parts = tuple[Tensor, ...]
Shape = tuple[int, int, int]


def encode(flat: Tensor, shape: Shape, *, bits: int, levels: float) -> tuple[Parts, bool]:
    """Codes of all elements, uint8 (⌈numel · bits / 8⌉,): one a byte, or two with the first in the low half.

    Args:
        flat: the elements.
        shape: `(outer, channels, inner)` of them.
        bits: of a code, 4 or 8.
        levels: the signed code of a channel's largest magnitude, before it is clipped; twice that when no
            element is below 0, and codes are unsigned.

    Returns:
        The parts, and whether all channels are finite; nobody waits for other devices than the CPU to know.
    """
    if not runs_natively(flat):
        scales, is_unsigned, codes = reference.encode(flat, shape, bits=bits, levels=levels)
        is_finite = flat.device.type != "cpu" or not bool(scales.isnan().any())
        return (scales, is_unsigned, codes if bits == 8 else reference.pack4(codes)), is_finite
    codes = memory.empty((flat.numel() * bits + 7) // 8, torch.uint8)
    parts = (*_new_scales(flat, shape), codes)
    is_finite = _native.sfpr_encode(
        flat.data_ptr(), ELEMENTS[flat.dtype], *shape, bits, levels, num_threads(), *_addresses(*parts)
    )
    return parts, is_finite


def decode(parts: Parts, shape: Shape, dtype: torch.dtype, *, bits: int) -> Tensor:
    """The elements, from what `encode` made.

    Raises:
        ValueError: it did not make these parts.
    """
    scales, is_unsigned, codes = parts
    numel = shape[0] * shape[1] * shape[2]
    _check_scales(parts, shape)
    _check(codes, "codes", torch.uint8, (numel * bits + 7) // 8)
    if not runs_natively(scales):
        whole = codes if bits == 8 else reference.unpack4(codes, is_unsigned, numel)
        return reference.decode(whole, scales, is_unsigned, shape, dtype)
    flat = memory.empty(numel, dtype)
    _native.sfpr_decode(flat.data_ptr(), ELEMENTS[dtype], *shape, bits, num_threads(), *_addresses(*parts))
    return flat


def encode_zvc(flat: Tensor, shape: Shape, *, levels: float) -> tuple[Parts, bool]:
    """8-bit codes of the elements that are not 0. Waits for the device.

    Args and Returns: as of `encode`. The third part and on: which elements have a code, a bit for each, uint8
    (⌈numel / 8⌉,); the number of codes in each run of 2^14 elements, int32; the codes, uint8.
    """
    if not runs_natively(flat):
        scales, is_unsigned, codes = reference.encode(flat, shape, bits=8, levels=levels)
        return (scales, is_unsigned, *reference.zvc_pack(flat, codes)), not bool(scales.isnan().any())
    numel = flat.numel()
    mask = flat.new_empty((numel + 7) // 8, dtype=torch.uint8)
    counts = flat.new_empty(_zvc_runs(numel), dtype=torch.int32)
    parts = (*_new_scales(flat, shape), mask, counts)
    is_finite, num_codes = _native.sfpr_zvc_encode(
        flat.data_ptr(), ELEMENTS[flat.dtype], *shape, levels, num_threads(), *_addresses(*parts)
    )
    codes = memory.empty(num_codes, torch.uint8)
    _native.sfpr_zvc_gather(counts.numel(), num_threads(), *_addresses(counts, codes))
    return (*parts, codes), is_finite


def decode_zvc(parts: Parts, shape: Shape, dtype: torch.dtype) -> Tensor:
    """The elements, from what `encode_zvc` made.

    Raises:
        ValueError: it did not make these parts.
    """
    scales, is_unsigned, mask, counts, codes = parts
    numel = shape[0] * shape[1] * shape[2]
    _check_scales(parts, shape)
    _check(mask, "mask", torch.uint8, (numel + 7) // 8)
    _check(counts, "counts", torch.int32, _zvc_runs(numel))
    _check(codes, "codes", torch.uint8, codes.numel())
    if not runs_natively(scales):
        whole = reference.zvc_unpack(mask, counts, codes, numel)
        return reference.decode(whole, scales, is_unsigned, shape, dtype)
    flat = memory.empty(numel, dtype)
    fits = _native.sfpr_zvc_decode(
        flat.data_ptr(), ELEMENTS[dtype], *shape, codes.numel(), num_threads(), *_addresses(*parts)
    )
    if not fits:
        raise ValueError("packed bytes are damaged: mask, counts and codes do not fit each other")
    return flat


def _zvc_runs(numel: int) -> int:
    return -(-numel // reference.ZVC_RUN)


def _new_scales(flat: Tensor, shape: Shape) -> tuple[Tensor, Tensor]:
    return flat.new_empty(shape[1], dtype=torch.float32), flat.new_empty(1, dtype=torch.uint8)


def _addresses(*parts: Tensor) -> list[int]:
    return [part.data_ptr() for part in parts]


def _check_scales(parts: Parts, shape: Shape) -> None:
    _check(parts[0], "scales", torch.float32, shape[1])
    _check(parts[1], "the sign of codes", torch.uint8, 1)


def _check(part: Tensor, name: str, dtype: torch.dtype, numel: int) -> None:
    if part.dtype != dtype or part.numel() != numel or not part.is_contiguous():
        found = f"{tuple(part.shape)} of {part.dtype}, expected ({numel},) of {dtype}"
        raise ValueError(f"packed bytes are damaged: {name}: {found}")
