"""Integer codes of which most are 0, in blocks of 64.

A block of zeros takes half a byte. Any other has a bit for each code, which says whether it is 0, and those
that are not, each in as many bits as the largest of the block needs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs import bits, memory
from halfbyte.activations.codecs.kernels import num_threads
from halfbyte.activations.codecs.reference import code_blocks as reference

__all__ = ["CodeBlocks", "decode", "encode", "num_bytes"]

_BLOCK = 64
_PIECE = 1 << 16
_WIDTHS = 10
_FAULTS = {1: reference.WIDTH, 2: reference.MASKS, 3: reference.FIT, 4: reference.CODES}


class CodeBlocks(NamedTuple):
    """Codes as bytes, each part uint8 of one dimension.

    Attributes:
        widths: of the blocks, two a byte: 0 for a block of zeros, else 1 + the bits of a code.
        masks: of each block that is not all zeros, 8 bytes: bit i says whether its i-th code is not 0.
        codes: those that are not 0, without gaps: first of all blocks of width 2, then of width 3, and so on,
            each beginning with a whole byte. (Where the width is 1, all of them are alike.)
    """

    widths: Tensor
    masks: Tensor
    codes: Tensor


def encode(codes: Tensor, *, signed: bool) -> CodeBlocks:
    """Pack codes. Waits for the device.

    Args:
        codes: int16 (n,): from 0 to 256, or from -128 to 128 if `signed`.
    """
    if not bits.on_cpu(codes):
        return CodeBlocks(*reference.encode(codes, signed=signed))
    codes, count = codes.contiguous(), codes.numel()
    widths = torch.empty(_width_bytes(count), dtype=torch.uint8)
    counts = _counts(count)
    what = (codes.data_ptr(), count, signed)
    mask_bytes, code_bytes = _native.code_blocks_measure(
        *what, widths.data_ptr(), counts.data_ptr(), num_threads()
    )
    masks = memory.empty(mask_bytes, torch.uint8)
    packed = torch.zeros(code_bytes, dtype=torch.uint8)
    _native.code_blocks_write(*what, counts.data_ptr(), masks.data_ptr(), packed.data_ptr(), num_threads())
    return CodeBlocks(widths, masks, packed)


def num_bytes(codes: Tensor, *, signed: bool) -> int:
    """What `encode` would take."""
    if not bits.on_cpu(codes):
        return reference.num_bytes(codes, signed=signed)
    codes, count = codes.contiguous(), codes.numel()
    counts = _counts(count)
    both = _native.code_blocks_measure(codes.data_ptr(), count, signed, 0, counts.data_ptr(), num_threads())
    return _width_bytes(count) + sum(both)


def decode(parts: CodeBlocks, count: int, *, signed: bool) -> Tensor:
    """The codes, int16 (count,), from what `encode` made.

    Raises:
        ValueError: it did not make these parts.
    """
    for name, part in parts._asdict().items():
        if part.dtype != torch.uint8 or part.dim() != 1:
            raise _damaged(f"{name} are {part.dtype} of {part.dim()} dimensions, expected uint8 of 1")
    if parts.widths.numel() != _width_bytes(count):
        raise _damaged(f"widths take {parts.widths.numel()} bytes, expected {_width_bytes(count)}")
    if not bits.on_cpu(parts.widths):
        return reference.decode(*parts, count, signed=signed)
    widths, masks, packed = (part.contiguous() for part in parts)
    counts = _counts(count)
    fault = _native.code_blocks_check(
        *(widths.data_ptr(), masks.data_ptr(), masks.numel(), packed.numel()),
        *(count, counts.data_ptr(), num_threads()),
    )
    if fault:
        raise _damaged(_FAULTS[fault])
    codes = memory.empty(count, torch.int16)
    _native.code_blocks_read(
        *(widths.data_ptr(), masks.data_ptr(), packed.data_ptr(), counts.data_ptr()),
        *(count, signed, codes.data_ptr(), num_threads()),
    )
    return codes


def _width_bytes(count: int) -> int:
    """Of so many codes: half a byte a block."""
    return (-(-count // _BLOCK) + 1) // 2


def _counts(count: int) -> Tensor:
    """Room for what the native functions tell each other: of each piece, how many codes have which width."""
    return torch.empty((-(-count // _PIECE), _WIDTHS), dtype=torch.int64)


def _damaged(found: str) -> ValueError:
    return ValueError(f"packed bytes are damaged: {found}")
