"""Scaled fixed point: what it may lose, and what it must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tensors import FLOATS, ISAS, assert_same, bits_of, normal, odd_tensors, sparse, using_isa
from torch import Tensor

from halfbyte.activations.codecs.sfpr import Sfpr

CODECS = (Sfpr(), Sfpr(bits=4), Sfpr(coder="zvc"))
EPSILON = {dtype: torch.finfo(dtype).eps for dtype in FLOATS}


def largest_code(codec: Sfpr, x: Tensor) -> int:
    return 2**codec.bits - 1 if bool((x >= 0).all()) else 2 ** (codec.bits - 1) - 1


def step(codec: Sfpr, x: Tensor, channel: int = 1) -> Tensor:
    """The value of a code, as the docstring has it, shaped to broadcast over `x`."""
    maximum = x.float().abs().amax([d for d in range(x.dim()) if d != channel % x.dim()], keepdim=True)
    return maximum / (codec.headroom * (2.0 ** (codec.bits if bool((x >= 0).all()) else codec.bits - 1)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("codec", [*CODECS, Sfpr(headroom=1), Sfpr(bits=4, headroom=2)], ids=str)
@pytest.mark.parametrize("fill", [normal(3), sparse(4)], ids=["normal", "sparse"])
def test_error_is_half_a_step_or_clipped(
    codec: Sfpr, dtype: torch.dtype, fill: Callable[..., Tensor]
) -> None:
    x = fill(8, 5, 12, 12).to(dtype)
    unit, decoded = step(codec, x), codec.encode(x).decode()
    low = 0 if bool((x >= 0).all()) else -largest_code(codec, x) - 1
    lowest, highest = unit * low, unit * largest_code(codec, x)
    nearest = x.float().clamp(lowest, highest)
    rounding = decoded.float().abs() * EPSILON[dtype] + unit * 1e-4
    assert ((decoded.float() - nearest).abs() <= unit / 2 + rounding).all()
    beyond = x.float() > highest
    assert torch.equal(decoded[beyond], highest.to(dtype).expand_as(x)[beyond])
    assert beyond.any()


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_zeros_stay_zeros(codec: Sfpr, sign: float) -> None:
    x = normal(5)(4, 6, 7, 7)
    x[:, 2] = 0
    x[:, 3, 2:] = sign * 0.0
    x[:, 4] = -0.0
    decoded = codec.encode(x).decode()
    assert (decoded[x == 0] == 0).all()
    assert decoded.isfinite().all()


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_channels_too_small_for_a_scale_become_zero(codec: Sfpr) -> None:
    x = normal(6)(2, 3, 4, 4)
    x[:, 1] *= 1e-39
    decoded = codec.encode(x).decode()
    assert x[:, 1].any()
    assert not decoded[:, 1].any()
    assert decoded[:, [0, 2]].any()


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_channels_do_not_touch_each_other(codec: Sfpr) -> None:
    x = normal(7)(3, 4, 9, 9)
    before = codec.encode(x).decode()
    x[:, 2] = x[:, 2] * 1000 - 50
    after = codec.encode(x).decode()
    assert torch.equal(after[:, [0, 1, 3]], before[:, [0, 1, 3]])
    assert not torch.equal(after[:, 2], before[:, 2])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_channels_that_are_not_finite_are_exact(
    codec: Sfpr, dtype: torch.dtype, layout: torch.memory_format
) -> None:
    x = normal(8)(3, 5, 6, 6).to(dtype).to(memory_format=layout)
    without = codec.encode(x).decode()
    x[0, 1, 2, 3], x[1, 1, 0, 0], x[2, 4, 5, 5] = torch.nan, -torch.inf, torch.inf
    decoded = codec.encode(x).decode()
    assert_same(decoded[:, [1, 4]], x[:, [1, 4]])
    assert torch.equal(decoded[:, [0, 2, 3]], without[:, [0, 2, 3]])


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_infinity_in_a_tensor_without_negatives(codec: Sfpr) -> None:
    x = sparse(9)(3, 5, 6, 6)
    x[1, 2, 3, 4] = torch.inf
    packed = codec.encode(x)
    assert bool(packed.parts[1])
    assert torch.equal(packed.decode()[:, 2], x[:, 2])


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_channels_last_gives_the_same_values(codec: Sfpr) -> None:
    not_finite = normal(10)(3, 5, 6, 6)
    not_finite[1, 2, 3, 3] = torch.nan
    for x in (normal(10)(3, 20, 7, 7), sparse(10)(2, 3, 40, 30), not_finite):
        decoded = codec.encode(x.to(memory_format=torch.channels_last)).decode()
        assert decoded.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(bits_of(decoded), bits_of(codec.encode(x).decode()))


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_the_tensor_and_the_generator_are_left_alone(codec: Sfpr) -> None:
    x = normal(12)(3, 5, 6, 6)
    x[1, 2, 3, 3] = torch.inf
    before, generator = x.clone(), torch.get_rng_state()
    codec.encode(x).decode().zero_()
    assert torch.equal(bits_of(x), bits_of(before))
    assert torch.equal(torch.get_rng_state(), generator)


def test_codes_without_sign_are_twice_as_fine() -> None:
    x = sparse(13)(4, 3, 16, 16)
    fine, coarse = Sfpr().encode(x), Sfpr().encode(torch.cat([x, -x]))
    assert torch.equal(2 * fine.parts[0], coarse.parts[0])
    below_clipping = x < 0.88 * x.amax(dim=(0, 2, 3), keepdim=True)
    error = (fine.decode() - x).abs()[below_clipping].max()
    assert error <= x.max() / (1.125 * 256) / 2 * 1.0001


@pytest.mark.parametrize("numel", [1, 63, 64, 1000, (1 << 14) + 1])
def test_bytes_held_are_those_of_the_formula(numel: int) -> None:
    x = sparse(14)(numel, 2)
    nonzero, scales = int((x != 0).sum()), 2 * 4 + 1
    assert Sfpr().encode(x).nbytes == scales + 2 * numel
    assert Sfpr(bits=4).encode(x).nbytes == scales + numel
    runs = -(-2 * numel // (1 << 14))
    assert Sfpr(coder="zvc").encode(x).nbytes == scales + (2 * numel + 7) // 8 + 4 * runs + nonzero
    x[0, 1] = torch.inf
    assert Sfpr().encode(x).nbytes == scales + 2 * numel + 4 + 4 * numel


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("isa", ISAS)
def test_zero_value_coding_knows_the_sign(dtype: torch.dtype, isa: str) -> None:
    codec = Sfpr(coder="zvc")
    for x in odd_tensors(sparse(15), dtype):
        x = torch.where(x > 1, x, x * 1e-3)  # noqa: PLW2901 - many become 0 without being 0
        with using_isa(isa):
            packed = codec.encode(x)
            assert codec.holds_mask(packed)
            assert_same(packed.mask(), (x > 0).to(dtype))


def test_no_mask_of_signed_codes_or_of_all_codes() -> None:
    signed, every = Sfpr(coder="zvc").encode(normal()(9)), Sfpr().encode(sparse()(9))
    for packed in (signed, every):
        assert not packed.codec.holds_mask(packed)
        with pytest.raises(NotImplementedError, match="keeps no mask"):
            packed.mask()


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.complex64, torch.bool])
def test_other_types_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=r"Sfpr\(8 bits\).*torch"):
        Sfpr().encode(torch.zeros(3, dtype=dtype))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bits": 5}, "bits is 5, expected 4 or 8"),
        ({"headroom": 0.9}, "headroom is 0.9, expected 1 to 2"),
        ({"headroom": float("nan")}, "headroom is nan"),
        ({"coder": "rle"}, "coder is 'rle', expected 'none' or 'zvc'"),
        ({"coder": "zvc", "bits": 4}, "takes 8 bits, not 4"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sfpr(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("channel", "scales"), [(None, 3), (0, 2), (-1, 5)])
def test_channels_are_those_of_the_dimension(channel: int | None, scales: int) -> None:
    x = normal(19)(2, 3, 4, 5)
    codec = Sfpr(headroom=1, channel=channel)
    packed = codec.encode(x)
    assert packed.parts[0].shape == (scales,)
    assert ((packed.decode() - x).abs() <= 1.001 * step(codec, x, 1 if channel is None else channel)).all()


def test_names() -> None:
    assert [str(codec) for codec in CODECS] == ["Sfpr(8 bits)", "Sfpr(4 bits)", "Sfpr(8 bits, zvc)"]
    assert Sfpr(bits=4).to_dict() == {
        "codec": "Sfpr", "bits": 4, "headroom": 1.125, "coder": "none", "channel": None,
    }  # fmt: skip
