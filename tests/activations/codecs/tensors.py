"""Tensors of every shape and layout that a codec must take, and how to compare what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from halfbyte import _native
from halfbyte.activations.codecs.layout import Layout

ISAS = tuple(_native.instruction_sets())
FLOATS = (torch.float32, torch.bfloat16, torch.float16)
INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

Fill = Callable[..., Tensor]
"""fill(*size) makes a contiguous tensor."""

LAYOUTS: dict[str, Callable[[Fill], Tensor]] = {
    "contiguous": lambda fill: fill(2, 3, 5, 7),
    "channels_last": lambda fill: fill(2, 3, 5, 7).to(memory_format=torch.channels_last),
    "channels_last, one channel": lambda fill: fill(2, 1, 5, 7).to(memory_format=torch.channels_last),
    "transposed": lambda fill: fill(33, 17).t(),
    "permuted": lambda fill: fill(4, 3, 6, 5).permute(2, 0, 3, 1),
    "offset": lambda fill: fill(9, 31)[1:],
    "columns": lambda fill: fill(9, 40)[:, 3:30],
    "every other": lambda fill: fill(130)[::2],
    "every other, permuted": lambda fill: fill(8, 6, 10)[::2, :, 1::3].permute(2, 1, 0),
    "expanded": lambda fill: fill(1, 5, 1).expand(4, 5, 6),
    "expanded, permuted": lambda fill: fill(7, 1, 13).permute(2, 0, 1).expand(13, 7, 3),
    "expanded with gaps": lambda fill: fill(6, 1, 8)[::2, :, ::2].expand(3, 5, 4),
    "one value expanded": lambda fill: fill(1).expand(100),
    "dimensions of one": lambda fill: fill(1, 6, 1, 9, 1).permute(2, 3, 4, 1, 0),
    "no dimensions": lambda fill: fill(),
    "empty": lambda fill: fill(0, 3, 4),
    "empty at the end": lambda fill: fill(2, 0),
    "one element": lambda fill: fill(1),
    "63 elements": lambda fill: fill(63),
    "64 elements": lambda fill: fill(64),
    "65 elements": lambda fill: fill(65),
    "a piece and a bit": lambda fill: fill((1 << 16) + 5),
}


def normal(seed: int = 0) -> Fill:
    """Makers of normal numbers."""
    generator = torch.Generator().manual_seed(seed)
    return lambda *size: torch.randn(size, generator=generator)


def sparse(seed: int = 0) -> Fill:
    """Makers of what ReLU leaves of normal numbers."""
    fill = normal(seed)
    return lambda *size: fill(*size).clamp_min(0)


def odd_tensors(fill: Fill, dtype: torch.dtype = torch.float32) -> Iterator[Tensor]:
    """One tensor of every layout; failures name it by `pytest`'s local variables."""
    for make in LAYOUTS.values():
        yield make(lambda *size: fill(*size).to(dtype))


def bits_of(x: Tensor) -> Tensor:
    """The elements as integers, so that NaN equals NaN and -0 differs from 0."""
    flat = x.reshape(1) if x.dim() == 0 else x.contiguous()
    return flat.view(INTEGERS[x.element_size()])


def assert_same(decoded: Tensor, expected: Tensor, like: Tensor | None = None) -> None:
    """Bit for bit the same elements, in the same shape, of the same type, laid out as `like` (or the expected
    tensor) is, but for gaps.
    """
    assert decoded.shape == expected.shape
    assert decoded.dtype == expected.dtype
    assert torch.equal(bits_of(decoded), bits_of(expected))
    assert decoded.stride() == Layout(expected if like is None else like).restored_stride


@contextmanager
def using_isa(name: str) -> Iterator[None]:
    """Native kernels for this instruction set until the end of the block, on one thread: starting more for so
    little takes long where tests share their cores.
    """
    before = _native.instruction_set()
    _native.set_instruction_set(name)
    try:
        with on_threads(1):
            yield
    finally:
        _native.set_instruction_set(before)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """torch on this many threads, until the end of the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
