"""JpegAct against its rules, stated once more in double precision with scipy's DCT: every tile by itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import fft
from smooth_maps import FORMATS, one_thread, smooth
from torch import Tensor

from halfbyte.activations.codecs.coded_tiles import Zvc
from halfbyte.activations.codecs.jpeg_act import JpegAct
from halfbyte.activations.codecs.maps import MapShape
from halfbyte.activations.codecs.reference.jpeg_act import ZIGZAG

__all__ = ["one_thread"]

Array = npt.NDArray[np.float64]

TIE = 2e-4
"""What is so near the middle between two integers may be rounded to either."""


def codecs() -> Iterator[JpegAct]:
    for table in ("optL", "optH", "jpeg60"):
        yield JpegAct(table, quantize="divide", gate=False)
        yield JpegAct(table, rounding="nearest", gate=False)


def tiles_of(image: Array) -> Iterator[tuple[slice, slice]]:
    for top in range(0, image.shape[0], 8):
        for left in range(0, image.shape[1], 8):
            yield slice(top, min(top + 8, image.shape[0])), slice(left, min(left + 8, image.shape[1]))


def fixed_point(x: Tensor) -> tuple[Array, Array]:
    """Codes and scales, from float32 products as the codec has them."""
    largest = x.abs().amax((0, 2, 3), keepdim=True)
    codes = (x * (144 / largest)).round().clamp(-128, 127)
    return codes.double().numpy(), (largest / 144).double().numpy()


def coefficients_of(image: Array) -> Array:
    out = np.zeros_like(image)
    for tile in tiles_of(image):
        out[tile] = fft.dctn(image[tile], norm="ortho")
    return out


def quotients_of(coefficients: Array, codec: JpegAct) -> Array:
    steps = np.array(codec.steps, dtype=np.float64).reshape(8, 8)
    out = np.zeros_like(coefficients)
    for tile in tiles_of(coefficients):
        step = steps[: coefficients[tile].shape[0], : coefficients[tile].shape[1]]
        half = step / 2 if codec.rounding == "nearest" else 0
        magnitude = np.floor((np.abs(np.rint(coefficients[tile])) + half) / step)
        out[tile] = np.clip(np.sign(coefficients[tile]) * magnitude, -128, 127)
    return out


def restored(quotients: Array, codec: JpegAct) -> Array:
    steps = np.array(codec.steps, dtype=np.float64).reshape(8, 8)
    out = np.zeros_like(quotients)
    for tile in tiles_of(quotients):
        step = steps[: quotients[tile].shape[0], : quotients[tile].shape[1]]
        out[tile] = fft.idctn(quotients[tile] * step, norm="ortho")
    return out


def is_tie(values: Array) -> npt.NDArray[np.bool_]:
    return np.abs(values - np.floor(values) - 0.5) < TIE


def code_planes(packed_tiles: Zvc, shape: MapShape) -> Array:
    """Quotients as images, from the parts of one plane of whole tiles."""
    nonzero = np.array(
        [[mask >> i & 1 for i in range(64)] for mask in packed_tiles.masks.tolist()], dtype=bool
    )
    codes = np.zeros(nonzero.shape)
    codes[nonzero] = packed_tiles.codes.view(torch.int8).numpy()
    rows = np.zeros_like(codes)
    rows[:, list(ZIGZAG)] = codes
    grid = rows.reshape(shape.rows, shape.columns, 8, 8)
    return grid.transpose(0, 2, 1, 3).reshape(shape.height, shape.width)


@pytest.mark.parametrize("codec", list(codecs()), ids=str)
def test_codes_of_whole_tiles_follow_the_rules(codec: JpegAct) -> None:
    x = smooth(1, 1, 40, 56)
    tiles = Zvc(*codec.encode(x).parts[1:])
    coefficients = coefficients_of(fixed_point(x)[0][0, 0])
    found = code_planes(tiles, MapShape(1, 40, 56, 1, 1))
    sure = ~is_tie(coefficients)
    assert sure.mean() > 0.98
    assert np.array_equal(found[sure], quotients_of(coefficients, codec)[sure])


@pytest.mark.parametrize("side", [7, 8, 12, 14, 20, 28, 56])
@pytest.mark.parametrize("codec", list(codecs()), ids=str)
def test_values_follow_the_rules(codec: JpegAct, side: int) -> None:
    x = smooth(2, 3, side, side)
    codes, scales = fixed_point(x)
    decoded = codec.encode(x).decode().double().numpy()
    for n in range(2):
        for c in range(3):
            coefficients = coefficients_of(codes[n, c])
            values = restored(quotients_of(coefficients, codec), codec)
            sure = np.ones_like(values, dtype=bool)
            for tile in tiles_of(values):  # a tie among coefficients moves the whole tile
                sure[tile] = ~is_tie(coefficients[tile]).any() & ~is_tie(values[tile])
            assert sure.mean() > 0.2
            expected = np.rint(values) * scales[0, c]
            assert np.allclose(decoded[n, c][sure], expected[sure], rtol=1e-6, atol=0)


@pytest.mark.parametrize("side", [8, 14, 20, 28])
def test_tiled_rows_follow_the_papers_rules(side: int) -> None:
    x, codec = smooth(2, 3, side, side), JpegAct(tiling="rows", gate=False)
    codes, scales = fixed_point(x)
    lines = codes.reshape(-1, side)
    image = np.pad(lines, ((-lines.shape[0] % 8, 0), (-side % 8, 0)))
    coefficients = coefficients_of(image)
    values = restored(quotients_of(coefficients, codec), codec)
    sure = np.ones_like(values, dtype=bool)
    for tile in tiles_of(values):
        sure[tile] = ~is_tie(coefficients[tile]).any() & ~is_tie(values[tile])
    cut = np.s_[-lines.shape[0] :, -side:]
    expected = (np.rint(values)[cut].reshape(codes.shape) * scales).astype(np.float64)
    for memory_format in FORMATS:
        decoded = codec.encode(x.to(memory_format=memory_format)).decode().double().numpy()
        where = sure[cut].reshape(codes.shape)
        assert where.mean() > 0.2
        assert np.allclose(decoded[where], expected[where], rtol=1e-6, atol=0)
