"""Random numbers from counters: as good as rounding needs, between elements and between keys."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from halfbyte.activations.codecs.reference.counter_random import Stream, draw, spread_key, uniform

CPU = torch.device("cpu")
COUNT = 1 << 16
KEYS = (0, 1, 2, 3, 1 << 32, (1 << 64) - 1)


def centred(key: int, count: int = COUNT) -> Tensor:
    """Draws with expectation 0 and variance 1."""
    return (uniform(count, key, CPU).double() - 0.5) * 12**0.5


def correlation(a: Tensor, b: Tensor) -> float:
    """In standard deviations: independent draws give a standard normal number."""
    return float((a * b).sum()) / len(a) ** 0.5


def bits_of(words: Tensor) -> Tensor:
    return (words.unsqueeze(-1) >> torch.arange(32)) & 1


def test_draws_do_not_move() -> None:
    assert spread_key(1) == Stream(first=612_485_883, second=2_190_562_275)
    counters = torch.tensor([0, 1, (1 << 32) - 1])
    assert draw(counters, spread_key(1)).tolist() == [2_673_789_354, 2_193_531_793, 1_221_891_726]


@pytest.mark.parametrize("key", KEYS)
def test_draws_are_uniform(key: int) -> None:
    u = uniform(COUNT, key, CPU)
    assert u.dtype == torch.float32
    assert 0 <= float(u.min()) < 1e-3
    assert 1 - 1e-3 < float(u.max()) < 1
    expected = COUNT / 256
    squared = (torch.bincount((u * 256).long(), minlength=256) - expected).square().sum() / expected
    # Of 255 degrees of freedom: mean 255, deviation 22.6.
    assert abs(float(squared) - 255) < 4.5 * 22.6


@pytest.mark.parametrize("key", KEYS)
def test_every_bit_is_set_half_of_the_time(key: int) -> None:
    share = bits_of(draw(torch.arange(COUNT), spread_key(key))).double().mean(0)
    assert float((share - 0.5).abs().max()) < 5 * 0.5 / COUNT**0.5


def test_flipping_a_bit_of_the_counter_flips_half_of_the_bits() -> None:
    counter = torch.arange(1 << 14) * 262_139  # all over the 32 bits
    stream = spread_key(5)
    for bit in range(32):
        flipped = bits_of(draw(counter, stream) ^ draw(counter ^ 1 << bit, stream)).double().mean(0)
        assert float((flipped - 0.5).abs().max()) < 6 * 0.5 / len(counter) ** 0.5 + 0.005


@pytest.mark.parametrize("key", KEYS)
def test_neighbours_are_uncorrelated(key: int) -> None:
    draws = centred(key)
    for lag in (1, 2, 3, 4, 8, 16, 32, 64, 255, 256, 1024, 3136):
        assert abs(correlation(draws[lag:], draws[:-lag])) < 4.5, lag


def test_keys_are_uncorrelated() -> None:
    streams = torch.stack([centred(key, 1 << 14) for key in (*range(60), *(1 << n for n in range(6, 64)))])
    z = (streams @ streams.T / streams.shape[1] ** 0.5)[
        torch.triu_indices(len(streams), len(streams), 1).unbind()
    ]
    assert float(z.abs().max()) < 5
    assert abs(float(z.square().mean()) - 1) < 0.1


def test_no_key_repeats_another_in_another_order() -> None:
    # Counters that a first half only permutes; chance lets about one of 2^16 draws of 32 bits repeat.
    draws = draw(torch.arange(COUNT), Stream(first=0, second=1))
    others = draw(torch.arange(COUNT), Stream(first=COUNT - 1, second=2))
    assert int(torch.isin(draws, others).sum()) < 10


def test_counters_count_to_32_bits() -> None:
    stream = spread_key(3)
    assert draw(torch.tensor([7]), stream).equal(draw(torch.tensor([7 + (1 << 32)]), stream))
