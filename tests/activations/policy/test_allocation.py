"""Greedy bits against all possible ones."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfbyte.activations.policy.allocation import allocate, variance

OPTIONS = (1, 2, 3, 4, 8)
Tensors = list[tuple[float, int]]
"""Sensitivity and eights of elements, of each."""

tensors = st.lists(
    st.tuples(st.floats(0, 1e6, allow_subnormal=False), st.integers(1, 1000)), min_size=1, max_size=4
)
share = st.floats(0, 1.1)


def sizes_of(tensors: Tensors) -> list[list[int]]:
    return [[eights * bits for bits in OPTIONS] for _, eights in tensors]


def chosen(tensors: Tensors, budget: float) -> list[int]:
    return allocate([sensitivity for sensitivity, _ in tensors], sizes_of(tensors), OPTIONS, budget)


def bytes_of(tensors: Tensors, bits: tuple[int, ...] | list[int]) -> int:
    return sum(eights * b for (_, eights), b in zip(tensors, bits, strict=True))


def harm_of(tensors: Tensors, bits: tuple[int, ...] | list[int]) -> float:
    return sum(sensitivity * variance(b) for (sensitivity, _), b in zip(tensors, bits, strict=True))


def most(tensors: Tensors) -> int:
    return bytes_of(tensors, [8] * len(tensors))


def least_harm(tensors: Tensors, budget: float) -> float:
    every = product(OPTIONS, repeat=len(tensors))
    return min(harm_of(tensors, bits) for bits in every if bytes_of(tensors, bits) <= budget)


@given(tensors, share)
def test_budget_is_kept_unless_all_have_the_fewest_bits(tensors: Tensors, share: float) -> None:
    budget = share * most(tensors)
    bits = chosen(tensors, budget)
    assert set(bits) <= set(OPTIONS)
    assert bytes_of(tensors, bits) <= budget or set(bits) == {1}


@given(tensors, share)
def test_no_choice_of_the_same_size_does_less_harm(tensors: Tensors, share: float) -> None:
    bits = chosen(tensors, share * most(tensors))
    assert harm_of(tensors, bits) == pytest.approx(least_harm(tensors, bytes_of(tensors, bits)), rel=1e-9)


@given(tensors, st.floats(0.125, 1))
def test_harm_exceeds_the_least_by_one_step_at_most(tensors: Tensors, share: float) -> None:
    budget = share * most(tensors)
    bits = chosen(tensors, budget)
    steps = list(pairwise(OPTIONS))
    last = max(s * (variance(low) - variance(high)) for (s, _), (low, high) in product(tensors, steps))
    assert harm_of(tensors, bits) <= least_harm(tensors, budget) + last * (1 + 1e-9)


@given(tensors, share, share)
def test_more_bytes_lower_no_bits(tensors: Tensors, one: float, other: float) -> None:
    fewer, more = (chosen(tensors, share * most(tensors)) for share in sorted((one, other)))
    assert all(a <= b for a, b in zip(fewer, more, strict=True))


def test_sensitive_tensors_get_more_bits() -> None:
    assert allocate([1.0, 1000.0, 10.0], [[100, 200, 300, 400, 800]] * 3, OPTIONS, 1100) == [1, 8, 2]


def test_of_equal_tensors_the_first_gives_up_bits_first() -> None:
    assert allocate([1.0] * 3, [[100, 200, 300, 400, 800]] * 3, OPTIONS, 1700) == [4, 4, 8]


def test_options_may_be_any() -> None:
    assert allocate([1.0, 2.0], [[4, 8], [4, 8]], (4, 8), 12) == [4, 8]
    assert allocate([1.0], [[4]], (4,), 0) == [4]
    assert allocate([], [], OPTIONS, 0) == []


def test_tensors_that_save_nothing_keep_their_bits() -> None:
    assert allocate([0.0, 1.0], [[5, 5], [10, 20]], (1, 2), 15) == [2, 1]


@pytest.mark.parametrize("sensitivity", [-1.0, float("nan")])
def test_senseless_sensitivities_are_refused(sensitivity: float) -> None:
    with pytest.raises(ValueError, match=r"sensitivity 1 is .*, expected a number ≥ 0"):
        allocate([1.0, sensitivity], [[1, 2], [1, 2]], (1, 2), 3)
