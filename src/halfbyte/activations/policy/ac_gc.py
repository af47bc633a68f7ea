"""The policy of AC-GC."""

from __future__ import annotations

import torch

from halfbyte.activations.codecs.error_bounded import Coder
from halfbyte.activations.policy.error_control import ErrorControl
from halfbyte.activations.policy.gradient_scale import GradientRms
from halfbyte.activations.policy.saved_tensor import PolicyFunction
from halfbyte.activations.policy.sfpr import sfpr

__all__ = ["AcGc", "ac_gc"]


class AcGc(ErrorControl):
    """See `ac_gc`."""

    def __str__(self) -> str:
        return f"ac_gc(epsilon={self.target:g})"


def ac_gc(
    optimizer: torch.optim.Optimizer | None = None,
    *,
    epsilon: float = 0.5,
    every: int = 100,
    warmup: int = 20,
    others: PolicyFunction | None = None,
    coder: Coder = "huffman",
    scaler: torch.amp.GradScaler | None = None,
) -> AcGc:
    """Error bounds for what convolutions and linear layers read, so that the noise in a weight's gradient has
    at most ε² times the square of the gradient itself: ‖noise‖² ≤ ε² ‖g‖². Then the bound on the loss that
    theory gives for gradient descent grows by a factor of 1 + ε² at most.

    It differs from `comet` in what noise is compared with: the gradient of single steps (the mean of the last
    ten that were measured), which is mostly the noise of small batches, instead of its average over steps. So
    ε is larger than COMET's target for equal bounds.

    Args:
        optimizer: as for `comet`.
        epsilon: ε, above 0.
        every, warmup, others, coder, scaler: as for `comet`.

    Raises:
        ValueError: an option is not as described.

    Source: AC-GC (NeurIPS 2021), its criterion and its averages. It differs in this: noise follows from a
    bound by the exact law instead of an estimate by norms; the codec is `ErrorBounded` instead of fixed
    point with a width for each channel; inputs of normalizations, for which AC-GC has a bound too, go to
    `others`.
    """
    return AcGc(
        optimizer,
        target=epsilon,
        scale=GradientRms(),
        every=every,
        warmup=warmup,
        others=sfpr() if others is None else others,
        coder=coder,
        scaler=scaler,
    )
