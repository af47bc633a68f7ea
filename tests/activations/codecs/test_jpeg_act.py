"""JpegAct: what it may lose, and what it must not."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
import torch
from smooth_maps import CODECS, FORMATS, one_thread, smooth
from tensors import FLOATS, assert_same, bits_of, normal, odd_tensors, on_threads
from torch import Tensor

from halfbyte.activations.codecs.jpeg_act import JpegAct
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.quantization_tables import OPT_H

__all__ = ["one_thread"]


def step_of(x: Tensor) -> Tensor:
    return x.float().abs().amax((0, 2, 3), keepdim=True) / 144


@pytest.mark.parametrize("table", ["optL", "optH", "optsL", "optsH", "jpeg60"])
@pytest.mark.parametrize("rounding", ["truncate", "nearest"])
@pytest.mark.parametrize("fill", [smooth, normal(1)], ids=["smooth", "white"])
def test_error_of_a_tile_is_within_the_bound(table: str, rounding: str, fill: Callable[..., Tensor]) -> None:
    x = fill(4, 6, 32, 48)
    codec = JpegAct(table, quantize="divide", rounding=rounding, gate=False)  # type: ignore[arg-type]
    x = x.clamp(-0.88 * 144 * step_of(x), 0.88 * 144 * step_of(x))  # of what is not clipped
    error = (codec.encode(x).decode() - x) / step_of(x)
    rms = error.unflatten(3, (-1, 8)).unflatten(2, (-1, 8)).square().mean((3, 5)).sqrt()
    of_steps = torch.tensor(codec.steps).float().square().mean().sqrt()
    bound = of_steps / 2 + 1.5 if rounding == "nearest" else of_steps + 0.5
    assert rms.max() <= bound
    assert rms.max() > bound / 8


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_layout_comes_back(codec: JpegAct, dtype: torch.dtype) -> None:
    for x in odd_tensors(normal(2), dtype):
        decoded = codec.encode(x).decode()
        assert decoded.shape == x.shape
        assert decoded.dtype == dtype
        assert decoded.stride() == Layout(x).restored_stride


MAPS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "channels_last": lambda x: x.to(memory_format=torch.channels_last),
    "columns first": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
    "channels first": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "width, channels": lambda x: x.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0),
    "with gaps": lambda x: x.repeat_interleave(2, 3)[..., ::2],
    "with gaps, channels_last": lambda x: torch.cat([x, x], 1).to(memory_format=torch.channels_last)[
        :, : x.shape[1]
    ],
}


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("make", MAPS.values(), ids=MAPS.keys())
def test_values_do_not_depend_on_memory(codec: JpegAct, make: Callable[[Tensor], Tensor]) -> None:
    for size in [(2, 3, 16, 12), (2, 1, 9, 8), (1, 20, 7, 7)]:
        x = smooth(*size)
        laid_out = make(x)
        assert torch.equal(laid_out, x)
        packed = codec.encode(laid_out)
        assert packed.codec == codec
        assert_same(packed.decode(), codec.encode(x).decode(), like=laid_out)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_expanded_maps_are_coded_once(codec: JpegAct) -> None:
    x = smooth(1, 3, 16, 16)
    for expanded in (x.expand(5, 3, 16, 16), x[:, :1].expand(1, 7, 16, 16), x[:, :1].expand(4, 7, 16, 16)):
        packed = codec.encode(expanded)
        once = codec.encode(x if expanded.shape[1] == 3 else x[:, :1])
        assert packed.nbytes == once.nbytes
        assert_same(packed.decode(), once.decode().expand(expanded.shape), like=expanded)
    assert codec.encode(x[..., :1].expand(1, 3, 16, 16)).why == "not a map"


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("memory_format", FORMATS)
def test_channels_that_are_not_finite_are_exact(
    codec: JpegAct, dtype: torch.dtype, memory_format: torch.memory_format
) -> None:
    x = smooth(3, 5, 16, 12).to(dtype, memory_format=memory_format)
    without = codec.encode(x).decode()
    x[0, 1, 2, 3], x[1, 1, 0, 0], x[2, 4, 5, 5] = torch.nan, -torch.inf, torch.inf
    decoded = codec.encode(x).decode()
    assert_same(decoded[:, [1, 4]], x[:, [1, 4]])
    if codec.tiling == "planes":
        assert torch.equal(decoded[:, [0, 2, 3]], without[:, [0, 2, 3]])
    assert decoded[:, [0, 2, 3]].isfinite().all()


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_channels_of_zeros_stay_zero(codec: JpegAct) -> None:
    x = smooth(2, 4, 16, 16)
    x[:, 1] = 0
    x[:, 2] *= 1e-39
    decoded = codec.encode(x).decode()
    assert decoded.isfinite().all()
    assert decoded[:, [0, 3]].any()
    if codec.tiling == "planes":
        assert not decoded[:, 1:3].any()


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("side", [7, 8, 14, 30])
def test_bytes_held_are_those_of_the_formula(codec: JpegAct, side: int) -> None:
    x = smooth(9, 5, side, side)
    packed = codec.encode(x)
    scales, *coded = packed.parts
    tiles = 45 * (-(-side // 8)) ** 2
    if codec.tiling == "rows":
        tiles = -(-45 * side // 8) * -(-side // 8)
    pieces = coded[1 if codec.coder == "zvc" else 0].numel()
    assert packed.nbytes == sum(part.numel() * part.element_size() for part in packed.parts)
    if codec.coder == "zvc":
        codes = int(coded[1].sum())
        assert packed.nbytes == 4 * 5 + 8 * tiles + 8 * pieces + codes
    else:
        assert packed.nbytes == 4 * 5 + 16 * pieces + 256 + int(coded[2].sum())
    assert scales.shape == (5,)


def test_coders_hold_the_same_codes() -> None:
    x = smooth(4, 6, 30, 22)
    zvc, rle = (JpegAct(coder=coder, gate=False).encode(x) for coder in ("zvc", "rle"))  # type: ignore[arg-type]
    assert torch.equal(zvc.decode(), rle.decode())
    assert rle.nbytes < zvc.nbytes


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_the_tensor_and_the_generator_are_left_alone(codec: JpegAct) -> None:
    x = smooth(3, 5, 9, 16)
    x[1, 2, 3, 3] = torch.inf
    before, generator = x.clone(), torch.get_rng_state()
    packed = codec.encode(x)
    first = packed.decode()
    kept = first.clone()
    first.zero_()
    assert torch.equal(packed.decode(), kept)
    assert torch.equal(bits_of(x), bits_of(before))
    assert torch.equal(torch.get_rng_state(), generator)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_results_do_not_depend_on_threads(codec: JpegAct) -> None:
    x = smooth(20, 40, 16, 16)
    packed = []
    for threads in (1, 3):
        with on_threads(threads):
            packed.append(codec.encode(x))
            decoded = packed[0].decode()
    assert all(map(torch.equal, packed[0].parts, packed[1].parts))
    assert torch.equal(packed[1].decode(), decoded)


def test_options_are_checked() -> None:
    for option in ("quantize", "rounding", "coder", "tiling"):
        with pytest.raises(ValueError, match=f"JpegAct: {option} is 'x', expected '.*' or '"):
            JpegAct(**{option: "x"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="table is 'x'"):
        JpegAct("x")
    with pytest.raises(TypeError, match="JpegAct\\(optH\\) encodes float32"):
        JpegAct().encode(torch.zeros(1, 1, 8, 8, dtype=torch.float64))


def test_codecs_are_values() -> None:
    own = JpegAct([list(row) for row in OPT_H])
    assert own == JpegAct(OPT_H)
    assert hash(own) == hash(JpegAct(OPT_H))
    assert own.steps == JpegAct("optH").steps
    assert pickle.loads(pickle.dumps(own)) == own
    assert JpegAct(**{k: v for k, v in own.to_dict().items() if k != "codec"}) == own
    names = [str(codec) for codec in (JpegAct(), own, JpegAct("jpeg80", quantize="divide", coder="rle"))]
    assert names == ["JpegAct(optH)", "JpegAct(own table)", "JpegAct(jpeg80, divide, rle)"]


def test_own_tables_are_used() -> None:
    x = smooth(2, 2, 16, 16)
    flat, fine = ((q,) * 8 for q in (64, 2))
    coarse = JpegAct((flat,) * 8, gate=False).encode(x)
    assert coarse.nbytes < JpegAct((fine,) * 8, gate=False).encode(x).nbytes
    error = [
        (JpegAct((row,) * 8, quantize="divide", gate=False).encode(x).decode() - x).norm()
        for row in (flat, fine)
    ]
    assert error[0] > 4 * error[1]
