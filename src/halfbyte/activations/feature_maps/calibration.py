"""A codec for each map, chosen on a few batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch import nn

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.feature_maps.options import measure
from halfbyte.activations.feature_maps.selection import select
from halfbyte.activations.feature_maps.trial import Trial

__all__ = ["choose_codecs"]


def choose_codecs(
    trial: Trial,
    candidates: Sequence[Codec],
    *,
    tolerance: float,
    evaluate: Callable[[nn.Module], float] | None,
) -> dict[str, Codec]:
    """The fewest bytes within a tolerance.

    Args:
        trial: of a model that is `at_rest`.
        candidates: for every map.
        tolerance: of the squared relative error of the model's output; or with `evaluate`, of what that
            loses.
        evaluate: a number for the model, the higher the better.

    Raises:
        ValueError: no choice is within the tolerance.
    """
    options = measure(trial, candidates)
    if evaluate is None:
        return select(options, trial.run, tolerance)
    plain = float(evaluate(trial.model))

    def loss(codecs: Mapping[str, Codec]) -> float:
        with trial.compressed(codecs):
            return plain - float(evaluate(trial.model))

    return select(options, loss, tolerance)
