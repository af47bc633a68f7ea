from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from halfbyte.keyed.bijection import Bijection, permute
from halfbyte.keyed.hashes import derive_keys


def test_forward_is_a_permutation_for_every_small_size() -> None:
    for n in range(301):
        images = Bijection(n * 7 + 1, n).forward(np.arange(n))
        assert sorted(images.tolist()) == list(range(n))


def test_inverse_undoes_forward_for_every_small_size() -> None:
    for n in range(301):
        bijection = Bijection(n * 7 + 1, n)
        assert bijection.inverse(bijection.forward(np.arange(n))).tolist() == list(range(n))
        assert bijection.forward(bijection.inverse(np.arange(n))).tolist() == list(range(n))


@given(key=st.integers(0, 2**64 - 1), n=st.integers(1, 2**53), data=st.data())
@settings(deadline=None, max_examples=150)
def test_inverse_is_exact_for_any_size(key: int, n: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, n - 1), max_size=20))
    bijection = Bijection(key, n)
    images = bijection.forward(values)
    assert ((images >= 0) & (images < n)).all()
    assert bijection.inverse(images).tolist() == values


def test_large_size_stays_one_to_one() -> None:
    bijection = Bijection(3, 10**8)
    for start in (0, 10**8 - 200_000):
        values = np.arange(start, start + 200_000)
        images = bijection.forward(values)
        assert np.unique(images).size == values.size
        assert (bijection.inverse(images) == values).all()


def test_vectorised_equals_one_by_one() -> None:
    bijection = Bijection(11, 100)
    together = bijection.forward(np.arange(100)).tolist()
    assert together == [int(bijection.forward(value)[0]) for value in range(100)]


def test_many_keys_and_sizes_equal_one_by_one() -> None:
    keys = derive_keys(5, np.arange(300))
    sizes = np.arange(300) % 97 + 1
    values = np.arange(300) % sizes
    images = permute(values, keys, sizes)
    singles = [
        int(Bijection(int(key), int(size)).forward(int(value))[0])
        for key, size, value in zip(keys, sizes, values, strict=True)
    ]
    assert images.tolist() == singles
    assert (permute(images, keys, sizes, inverse=True) == values).all()


def test_permutation_is_pinned() -> None:
    # Part of the order of every epoch: it must never change.
    assert Bijection(12345, 10).forward(np.arange(10)).tolist() == [9, 2, 3, 7, 8, 1, 5, 6, 4, 0]


def test_different_keys_permute_differently() -> None:
    images = {tuple(Bijection(key, 50).forward(np.arange(50)).tolist()) for key in range(100)}
    assert len(images) == 100


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_all_permutations_are_equally_likely(n: int) -> None:
    num_keys = 40_000
    keys = derive_keys(8, np.arange(num_keys)).repeat(n)
    images = permute(np.tile(np.arange(n), num_keys), keys, np.full(keys.shape, n)).reshape(num_keys, n)
    _, counts = np.unique(images @ n ** np.arange(n), return_counts=True)
    assert counts.size == math.factorial(n)
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("n", [6, 64, 65, 100, 1000])
def test_images_are_uniform_and_independent(n: int) -> None:
    keys = derive_keys(9, np.arange(40_000))
    sizes = np.full(keys.shape, n)
    first, last = (permute(np.full(keys.shape, value), keys, sizes) for value in (0, n - 1))
    assert stats.chisquare(np.bincount(first, minlength=n)).pvalue > 1e-3
    assert stats.chisquare(np.bincount(last, minlength=n)).pvalue > 1e-3
    # The distance of two images modulo n takes every value but 0 equally often.
    assert stats.chisquare(np.bincount((first - last) % n, minlength=n)[1:]).pvalue > 1e-3


@pytest.mark.parametrize("method", ["forward", "inverse"])
def test_value_outside_is_refused(method: str) -> None:
    with pytest.raises(IndexError, match=r"value 10 is outside \[0, 10\)"):
        getattr(Bijection(1, 10), method)([3, 10])


@pytest.mark.parametrize("n", [-1, 2**53 + 1])
def test_impossible_size_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match=rf"n is {n}, expected 0 to 2\*\*53"):
        Bijection(1, n)
