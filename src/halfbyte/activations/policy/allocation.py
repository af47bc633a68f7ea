"""Bits for many tensors under one budget."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

__all__ = ["allocate", "variance"]


def variance(bits: int) -> float:
    """Of the error of a tensor quantized to so many bits, relative to one bit: the squared step."""
    return 1 / ((1 << bits) - 1) ** 2


def allocate(
    sensitivities: Sequence[float],
    sizes: Sequence[Sequence[int]],
    options: Sequence[int],
    budget_bytes: float,
) -> list[int]:
    """Choose bits for every tensor so that all fit into a budget and Σ sensitivity · variance(bits) is small.

    All begin with the most bits; again and again the tensor whose next lower option costs least for each byte
    that it saves takes it, until the budget is met. As the cost of a bit grows with every bit taken, the sum
    exceeds the least possible by no more than what the last such step cost.

    Args:
        sensitivities: of each tensor, ≥ 0: what a unit of variance does to the gradient.
        sizes: of each tensor, bytes with each of the options.
        options: bits to choose from, fewest first.
        budget_bytes: for all tensors together. If not even the fewest bits fit, these are the answer.

    Returns:
        Bits of each tensor. More bytes never lower any of them.

    Raises:
        ValueError: a sensitivity is negative or not a number.

    Source: ActNN (ICML 2021), mixed precision; GACT (ICML 2022).
    """
    for i, sensitivity in enumerate(sensitivities):
        if not sensitivity >= 0:
            raise ValueError(f"sensitivity {i} is {sensitivity}, expected a number ≥ 0")

    def price(i: int) -> tuple[float, int]:
        lower, now = chosen[i] - 1, chosen[i]
        cost = sensitivities[i] * (variance(options[lower]) - variance(options[now]))
        saved = sizes[i][now] - sizes[i][lower]
        return (cost / saved if saved > 0 else float("inf")), i  # of equal ones, the first

    chosen = [len(options) - 1] * len(sizes)
    total = sum(size[-1] for size in sizes)
    heap = [price(i) for i in range(len(sizes))] if len(options) > 1 else []
    heapify(heap)
    while total > budget_bytes and heap:
        _, i = heappop(heap)
        chosen[i] -= 1
        total -= sizes[i][chosen[i] + 1] - sizes[i][chosen[i]]
        if chosen[i] > 0:
            heappush(heap, price(i))
    return [options[k] for k in chosen]
