"""Which codec for which map: the fewest bytes that do no more harm than allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.feature_maps.options import MapOptions

__all__ = ["cheapest", "select"]

_LEAST_PRICE, _MOST_PRICE = 1e-2, 1e8
_TRIALS = 12


def cheapest(options: Mapping[str, MapOptions], price: float) -> dict[str, Codec]:
    """For each map the codec of the least bytes + price · expected error of the output: with one price for
    all maps, no exchange between two of them would give less error for the same bytes.

    Args:
        options: of each map.
        price: bytes, as a share of those of all maps in 8 bits, for a squared relative error of the output of
            1.
    """
    total = sum(option.counts[0].elements for option in options.values())

    def cost(option: MapOptions, i: int) -> float:
        return option.counts[i].held / total + price * option.sensitivity * option.counts[i].error

    return {
        name: option.codecs[min(range(len(option.codecs)), key=lambda i: cost(option, i))]
        for name, option in options.items()
    }


def select(
    options: Mapping[str, MapOptions], harm: Callable[[Mapping[str, Codec]], float], tolerance: float
) -> dict[str, Codec]:
    """The choice at the lowest price of error whose harm is within the tolerance, found by bisection.

    Args:
        options: of each map.
        harm: what a choice does, as measured.
        tolerance: the most that it may do.

    Raises:
        ValueError: even the choice of the least error does more.
    """
    chosen = cheapest(options, _MOST_PRICE)
    if not (least := harm(chosen)) <= tolerance:
        raise ValueError(
            f"calibrate: even the most accurate codecs do a harm of {least:.3g}, more than the tolerance of "
            f"{tolerance:.3g}: raise the tolerance, or add a codec with more bits"
        )
    low, high = _LEAST_PRICE, _MOST_PRICE
    for _ in range(_TRIALS):
        price = (low * high) ** 0.5
        plan = cheapest(options, price)
        if plan == chosen or harm(plan) <= tolerance:
            chosen, high = plan, price
        else:
            low = price
    return chosen
