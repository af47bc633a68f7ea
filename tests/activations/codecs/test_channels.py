"""Channels of a tensor: which dimension they are, their ranges, and those that are kept as they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensors import FLOATS, ISAS, bits_of, normal, on_threads, using_isa
from torch import Tensor

from halfbyte.activations.codecs.channels import (
    around_channels,
    channel_ranges,
    keep_channels,
    put_channels_back,
)
from halfbyte.activations.codecs.layout import Layout
from halfbyte.activations.codecs.reference import channels as reference

SHAPES = st.tuples(st.integers(0, 40), st.integers(0, 50), st.integers(0, 80))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small tensors by the thousand: threads would wait for each other most of the time."""
    with on_threads(1):
        yield


def drawn(shape: tuple[int, int, int], dtype: torch.dtype, seed: int) -> Tensor:
    """Normal numbers, or none below 0, with up to two odd ones among them."""
    x = normal(seed)(*shape).to(dtype).view(-1)
    if seed % 2:
        x = x.abs()
    generator = torch.Generator().manual_seed(seed)
    for odd in ((), (-0.0,), (torch.nan, -0.0), (torch.inf,), (-torch.inf, 0.0))[seed % 5][: x.numel()]:
        x[torch.randint(x.numel(), (), generator=generator)] = odd
    return x


@settings(max_examples=80)
@given(shape=SHAPES, dtype=st.sampled_from(FLOATS), isa=st.sampled_from(ISAS), seed=st.integers(0, 999))
def test_ranges_are_those_of_torch_operations(
    shape: tuple[int, int, int], dtype: torch.dtype, isa: str, seed: int
) -> None:
    flat = drawn(shape, dtype, seed)
    with using_isa(isa):
        max_abs, nonneg = channel_ranges(flat, shape)
    expected, none_below = reference.channel_ranges(flat, shape)
    assert torch.equal(max_abs, expected)
    assert nonneg == bool(none_below)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1, 1, 200_000), (700, 300, 1), (40, 6000, 1), (3, 90, 784), (30, 70, 49)])
def test_ranges_over_many_pieces(shape: tuple[int, int, int], dtype: torch.dtype, isa: str) -> None:
    flat = normal(1)(*shape).to(dtype).view(-1)
    with using_isa(isa), on_threads(3):
        max_abs, nonneg = channel_ranges(flat, shape)
    assert torch.equal(max_abs, flat.view(shape).abs().amax((0, 2)).float())
    assert nonneg is False


@pytest.mark.parametrize("odd", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("dtype", FLOATS)
def test_channels_that_are_not_finite_reach_to_infinity(odd: float, dtype: torch.dtype) -> None:
    x = torch.ones(5, 7, 3, dtype=dtype)
    x[2, 4, 1] = odd
    max_abs, nonneg = channel_ranges(x.view(-1), (5, 7, 3))
    assert max_abs.tolist() == [1, 1, 1, 1, torch.inf, 1, 1]
    assert nonneg is (odd > 0)


@pytest.mark.parametrize("levels", [144.0, 288.0, 9.0])
def test_scales_are_0_where_there_is_nothing_to_scale(levels: float) -> None:
    max_abs = torch.tensor([0, 1e-45, 1e-38, 1, 3e38, torch.inf])
    scale, inverse = reference.fixed_point_scales(max_abs, levels)
    assert scale[:3].tolist() == inverse[:3].tolist() == [0, 0, 0]
    assert torch.equal(scale[3:5], max_abs[3:5] / torch.tensor(levels))
    assert torch.equal(inverse[3:5], torch.tensor(levels) / max_abs[3:5])
    assert scale[5].isnan()
    assert inverse[5] == 0


@pytest.mark.parametrize(
    ("size", "channel", "expected"),
    [
        ((2, 3, 4, 5), None, (2, 3, 20)),
        ((2, 3, 4, 5, 6), None, (2, 3, 120)),
        ((2, 3), None, (2, 3, 1)),
        ((2, 3, 4), None, (6, 4, 1)),
        ((2, 3, 2, 2, 2, 5), None, (48, 5, 1)),
        ((7,), None, (1, 1, 7)),
        ((), None, (1, 1, 1)),
        ((2, 3, 4, 5), 0, (1, 2, 60)),
        ((2, 3, 4, 5), -1, (24, 5, 1)),
        ((7,), 0, (1, 7, 1)),
    ],
)
def test_dimension_of_the_channels(
    size: tuple[int, ...], channel: int | None, expected: tuple[int, int, int]
) -> None:
    assert around_channels(Layout(torch.empty(size)), channel) == expected


@pytest.mark.parametrize("channel", [2, -3])
def test_channel_must_be_a_dimension(channel: int) -> None:
    with pytest.raises(
        ValueError, match=f"channel is {channel}, expected a dimension of the tensor, which has 2"
    ):
        around_channels(Layout(torch.empty(3, 4)), channel)


def test_kept_channels_are_put_back() -> None:
    shape = (3, 5, 4)
    flat = normal(2)(60)
    flat[25] = torch.nan
    kept = keep_channels(flat, shape, torch.tensor([False, True, False, False, True]))
    other = torch.zeros(60)
    put_channels_back(other, shape, *kept)
    expected = torch.zeros(shape)
    expected[:, [1, 4]] = flat.view(shape)[:, [1, 4]]
    assert torch.equal(bits_of(other), bits_of(expected.view(-1)))


@pytest.mark.parametrize(
    ("channels", "size", "dtype", "message"),
    [
        ([5], (3, 1, 4), torch.float32, "from 0 to 4"),
        ([-1], (3, 1, 4), torch.float32, "from 0 to 4"),
        ([1, 2], (3, 1, 4), torch.float32, r"\(3, 1, 4\) of torch.float32, expected \(3, 2, 4\)"),
        ([1], (3, 1, 4), torch.float16, "expected .* of torch.float32"),
    ],
)
def test_damaged_kept_channels_are_refused(
    channels: list[int], size: tuple[int, ...], dtype: torch.dtype, message: str
) -> None:
    kept = torch.tensor(channels, dtype=torch.int32), torch.zeros(size, dtype=dtype)
    with pytest.raises(ValueError, match="packed bytes are damaged: exact channels.*" + message):
        put_channels_back(torch.zeros(60), (3, 5, 4), *kept)
