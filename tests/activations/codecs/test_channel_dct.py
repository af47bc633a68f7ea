"""The DCT along channels, against scipy's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scipy.fft import dct
from tensors import FLOATS, assert_same, bits_of, normal, odd_tensors, on_threads, sparse
from torch import Tensor

from halfbyte.activations.codecs.channel_dct import ChannelDct, frequency_energies, restored, transformed
from halfbyte.activations.codecs.layout import Layout

EPSILON = {dtype: torch.finfo(dtype).eps for dtype in FLOATS}
CODECS = (ChannelDct(), ChannelDct(4, 6), ChannelDct(16, 7), ChannelDct(keep=0b1111))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with on_threads(1):
        yield


def alike(*size: int, noise: float = 0.0, seed: int = 0) -> Tensor:
    """Maps whose channels are copies of one another, but for some noise."""
    fill = normal(seed)
    return fill(size[0], 1, *size[2:]) + noise * fill(*size)


def scipy_dct(rows: Tensor, group: int) -> Tensor:
    """Group by group, in float64."""
    pieces = [dct(piece.double().numpy(), axis=0, norm="ortho") for piece in rows.split(group)]
    return torch.from_numpy(np.concatenate(pieces))


def step(codec: ChannelDct, x: Tensor) -> float:
    """As the docstring has it, for maps (N, C, H, W)."""
    rows = x.float().transpose(0, 1).flatten(1)
    largest = max(float(rows.abs().max()), float(scipy_dct(rows, codec.group).abs().max()))
    return largest / 2 ** (codec.bits - 1)


@pytest.mark.parametrize("group", [4, 8, 16])
@pytest.mark.parametrize("channels", [1, 3, 8, 13, 16, 29, 64])
def test_transform_is_scipys_and_orthonormal(channels: int, group: int) -> None:
    rows = normal(channels)(channels, 50)
    coefficients = transformed(rows, group)
    assert torch.allclose(coefficients.double(), scipy_dct(rows, group), atol=1e-5)
    assert torch.allclose(coefficients.square().sum(0), rows.square().sum(0), rtol=1e-5)
    assert torch.allclose(restored(coefficients, group), rows, atol=1e-5)


def test_transform_keeps_its_precision_under_autocast() -> None:
    x = alike(2, 16, 8, 8, noise=0.1)
    with torch.autocast("cpu", torch.bfloat16):
        decoded = ChannelDct().encode(x).decode()
    assert torch.equal(decoded, ChannelDct().encode(x).decode())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("codec", CODECS[:3], ids=str)
@pytest.mark.parametrize("channels", [5, 16, 21])
def test_error_is_as_stated(codec: ChannelDct, dtype: torch.dtype, channels: int) -> None:
    for x in (alike(4, channels, 10, 10, noise=0.2), alike(4, channels, 10, 10).clamp_min(0)):
        given = x.to(dtype)
        packed = codec.encode(given)
        assert packed.why == ""
        decoded = packed.decode().float()
        error = (decoded - given.float()).square().mean().sqrt()
        rounding = EPSILON[dtype] * given.float().square().mean().sqrt() + 1e-6
        assert error <= step(codec, given) / 2 + rounding
        assert bool((decoded < 0).any()) == bool((given < 0).any())


def test_codes_come_back_exactly() -> None:
    codec = ChannelDct()
    for channels in (8, 13):
        coefficients = torch.randint(-3, 4, (channels, 2 * 6 * 6), generator=torch.Generator().manual_seed(1))
        coefficients[0] = torch.arange(72) + 57  # the largest is 128: a step of 1
        rows = restored(coefficients.float(), 8)
        x = rows.view(channels, 2, 6, 6).transpose(0, 1)
        packed = codec.encode(x)
        assert packed.why == ""
        again = transformed(packed.decode().transpose(0, 1).flatten(1), 8) / packed.parts[0]
        assert torch.equal(again.round().long(), coefficients)
        assert torch.allclose(packed.decode(), x, atol=1e-4)


def test_of_equal_channels_the_mean_alone_is_needed() -> None:
    x = alike(4, 24, 16, 16)
    everything, mean = ChannelDct(bits=8).encode(x), ChannelDct(bits=8, keep=1).encode(x)
    assert torch.equal(everything.decode(), mean.decode())
    assert mean.nbytes < everything.nbytes
    assert x.numel() / mean.nbytes > 6.5
    energies = frequency_energies(x, 8)
    assert energies[0] == pytest.approx(float(x.double().square().sum()), rel=1e-5)
    assert energies[1:].sum() < 1e-6 * energies[0]


def test_frequencies_not_kept_take_nothing_and_are_zero() -> None:
    x = alike(3, 16, 16, 16, noise=0.3)
    codec = ChannelDct(keep=[True, False, True, False, False, False, False, False])
    packed = codec.encode(x)
    assert packed.parts[1].numel() == x.numel() // 4 // 64 // 2
    back = transformed(packed.decode().transpose(0, 1).flatten(1), 8).view(2, 8, -1)
    assert back[:, [1, 3, 4, 5, 6, 7]].abs().max() < 1e-5
    assert back[:, [0, 2]].abs().max() > 0.1


@pytest.mark.parametrize("fill", [normal(2), sparse(3)], ids=["white", "sparse"])
def test_white_noise_is_left_as_it_is(fill: object) -> None:
    x = fill(4, 32, 16, 16)  # type: ignore[operator]
    packed = ChannelDct().encode(x)
    assert packed.why.startswith("DCT does not pay")
    assert ((packed.decode() - x).abs() <= step(ChannelDct(), x) / 2 * 1.0001).all()
    assert (packed.decode()[x == 0] == 0).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("codec", CODECS[:3], ids=str)
def test_every_layout_comes_back_as_it_was(codec: ChannelDct, dtype: torch.dtype) -> None:
    for fill in (normal(5), sparse(6)):
        for x in odd_tensors(fill, dtype):
            decoded = codec.encode(x).decode()
            assert (decoded.shape, decoded.dtype) == (x.shape, dtype)
            assert decoded.stride() == Layout(x).restored_stride
            if x.numel() > 0:
                largest = float(x.float().abs().max())
                assert (
                    decoded.float() - x.float()
                ).abs().max() <= largest * codec.group / 2**codec.bits * 1.1


def test_channels_last_and_tokens_have_the_same_channels() -> None:
    x = alike(2, 24, 6, 6, noise=0.1)
    planar = ChannelDct().encode(x)
    last = ChannelDct().encode(x.to(memory_format=torch.channels_last))
    tokens = ChannelDct().encode(x.flatten(2).transpose(1, 2).contiguous())
    assert last.decode().is_contiguous(memory_format=torch.channels_last)
    for other in (last, tokens):
        assert other.why == ""
        assert all(torch.equal(a, b) for a, b in zip(planar.parts, other.parts, strict=True))
    assert torch.equal(last.decode(), planar.decode())
    assert torch.equal(tokens.decode().transpose(1, 2).reshape(x.shape), planar.decode())


@pytest.mark.parametrize("dtype", FLOATS)
def test_channels_that_are_not_finite_are_exact(dtype: torch.dtype) -> None:
    x = alike(3, 16, 8, 8, noise=0.05).to(dtype)
    without = x.clone()
    without[:, [1, 4]] = 0
    x[0, 1, 2, 3], x[1, 1, 0, 0], x[2, 4, 5, 5] = torch.nan, -torch.inf, torch.inf
    decoded, expected = ChannelDct().encode(x).decode(), ChannelDct().encode(without).decode()
    assert_same(decoded[:, [1, 4]].contiguous(), x[:, [1, 4]].contiguous())
    others = [c for c in range(16) if c not in (1, 4)]
    assert torch.equal(decoded[:, others], expected[:, others])
    assert decoded[:, others].isfinite().all()


def test_the_largest_of_float16_stays_finite() -> None:
    x = torch.full((2, 8, 4, 4), 65504.0, dtype=torch.float16)
    x[0] = -65504
    decoded = ChannelDct(bits=5).encode(x).decode()
    assert decoded.isfinite().all()
    assert torch.allclose(decoded, x, rtol=0.04)


def test_tensor_and_generator_are_left_alone() -> None:
    x = alike(2, 8, 6, 6)
    x[1, 2, 3, 3] = torch.inf
    before, generator = x.clone(), torch.get_rng_state()
    ChannelDct().encode(x).decode().zero_()
    assert torch.equal(bits_of(x), bits_of(before))
    assert torch.equal(torch.get_rng_state(), generator)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group": 5}, "group is 5, expected 4, 8 or 16"),
        ({"bits": 9}, "bits is 9, expected 2 to 8"),
        ({"keep": 0}, "keep is 0, expected 1 to 255"),
        ({"keep": 256}, "keep is 256, expected 1 to 255"),
        ({"keep": [True] * 4}, "keep has 4 entries, expected 8"),
        ({"keep": [False] * 8}, "keep is 0"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChannelDct(**options)  # type: ignore[arg-type]


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"ChannelDct\(8 channels, 8 bits\).*torch.float64"):
        ChannelDct().encode(torch.zeros(3, dtype=torch.float64))


@pytest.mark.parametrize("part", [0, 1, 2, 3])
def test_damage_is_told(part: int) -> None:
    packed = ChannelDct().encode(alike(2, 16, 16, 16, noise=0.1))
    packed.parts = (*packed.parts[:part], packed.parts[part][:-1], *packed.parts[part + 1 :])
    with pytest.raises(ValueError, match="packed bytes are damaged"):
        packed.decode()


def test_masks_are_one_however_they_are_given() -> None:
    assert ChannelDct(keep=[True, True, *[False] * 6]) == ChannelDct(keep=3)
    assert ChannelDct(keep=None) == ChannelDct(keep=255)
    assert str(ChannelDct(keep=3)) == "ChannelDct(8 channels, 8 bits, 2 of 8 frequencies)"
    assert ChannelDct(keep=3).to_dict() == {"codec": "ChannelDct", "group": 8, "bits": 8, "keep": 3}
