"""Native kernels of JpegAct against the reference, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Literal

import pytest
import torch
from smooth_maps import CODECS, FORMATS, one_thread, smooth
from tensors import FLOATS, ISAS, assert_same, bits_of, normal, sparse, using_isa
from torch import Tensor

from halfbyte.activations.codecs import coded_tiles, gate
from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.gate import estimate
from halfbyte.activations.codecs.jpeg_act import JpegAct
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.maps import MapShape, maps_of
from halfbyte.activations.codecs.reference import jpeg_act as reference

__all__ = ["one_thread"]

SIZES = [
    *((2, 3, side, side) for side in (7, 8, 12, 14, 20, 28, 56)),
    *(
        (1, 20, 16, 24),
        (2, 17, 9, 5),
        (3, 33, 4, 4),
        (600, 2, 8, 8),
        (1, 600, 9, 8),
        (1, 1, 100, 500),
        (1, 2, 300, 9),
    ),
]


@contextmanager
def in_torch_operations() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (coded_tiles, gate):
            patch.setattr(module, "runs_natively", lambda x: False)
        yield


def tables() -> Iterator[JpegAct]:
    for table in ("optL", "optH", "jpeg60"):
        yield JpegAct(table, quantize="divide")
        yield JpegAct(table, rounding="nearest")


def taken(x: Tensor) -> tuple[Tensor, MapShape]:
    maps = maps_of(Layout(x))
    assert maps is not None
    return maps.take(x), maps.shape


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("memory_format", FORMATS)
def test_native_tiles_are_those_of_the_reference(
    dtype: torch.dtype, memory_format: torch.memory_format
) -> None:
    for size, codec in zip(SIZES, list(tables()) * 5, strict=False):
        flat, shape = taken(smooth(*size).to(dtype, memory_format=memory_format))
        scale, inverse = reference.scales(flat, shape)
        nearest = codec.rounding == "nearest"
        expected = reference.encode(flat, shape, inverse, codec.steps, nearest=nearest)
        values = reference.decode(expected, shape, scale, codec.steps, dtype)
        for isa in ISAS:
            with using_isa(isa):
                native_scale, native_inverse, all_finite = coded_tiles.scales(flat, shape)
                tiles = coded_tiles.encode(flat, shape, inverse, codec.steps, nearest=nearest)
                decoded = coded_tiles.decode(tiles, shape, scale, codec.steps, dtype)
            assert all_finite
            assert torch.equal(native_scale, scale)
            assert torch.equal(native_inverse, inverse)
            assert all(map(torch.equal, tiles, expected))
            assert torch.equal(decoded.view(torch.uint8), values.view(torch.uint8))


@pytest.mark.parametrize("size", SIZES)
def test_both_memory_orders_hold_the_same_tiles(size: tuple[int, ...]) -> None:
    x, codec = smooth(*size), JpegAct(gate=False)
    planar, last = (codec.encode(x.to(memory_format=f)) for f in FORMATS)
    assert torch.equal(planar.decode(), last.decode())
    assert planar.parts[3].numel() == last.parts[3].numel()
    assert planar.parts[1].sort()[0].equal(last.parts[1].sort()[0])


@pytest.mark.parametrize("fill", [normal(1), sparse(2)], ids=["normal", "sparse"])
@pytest.mark.parametrize("coder", ["zvc", "rle"])
def test_native_estimates_are_those_of_the_reference(
    fill: Callable[..., Tensor], coder: Literal["zvc", "rle"]
) -> None:
    for size in SIZES:
        x, estimates = fill(*size), set()
        for memory_format in FORMATS:
            flat, shape = taken(x.to(memory_format=memory_format))
            inverse, steps = reference.scales(flat, shape)[1], JpegAct().steps
            for kernels in (nullcontext, in_torch_operations):
                with kernels():
                    estimates.add(estimate(flat, shape, inverse, steps, nearest=False, coder=coder))
        assert len(estimates) == 1


def assert_same_parts(packed: Packed, expected: Packed) -> None:
    assert [part.dtype for part in packed.parts] == [part.dtype for part in expected.parts]
    for part, other in zip(packed.parts, expected.parts, strict=True):
        assert torch.equal(bits_of(part), bits_of(other))


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("memory_format", FORMATS)
def test_other_devices_get_the_same_parts(
    codec: JpegAct, dtype: torch.dtype, memory_format: torch.memory_format
) -> None:
    x = normal(3)(4, 9, 11, 8)
    for channel, factor in enumerate((1, 0, -0.0, 1e-40, 3e-36, 1e37)):
        x[:, channel] *= factor
    x[1, 6, 2, 3], x[2, 7, 0, 0], x[0, 8, 1, 1], x[3, 8, 4, 4] = torch.nan, torch.inf, torch.inf, torch.nan
    x = x.to(dtype, memory_format=memory_format)
    packed = codec.encode(x)
    with in_torch_operations():
        expected = codec.encode(x)
        assert_same_parts(packed, expected)
        assert_same(packed.decode(), expected.decode())
        values = expected.decode()
    assert_same(expected.decode(), values)
