"""The policy of COMET."""

from __future__ import annotations

import torch

from halfbyte.activations.codecs.error_bounded import Coder
from halfbyte.activations.policy.error_control import ErrorControl
from halfbyte.activations.policy.gradient_scale import Momentum
from halfbyte.activations.policy.saved_tensor import PolicyFunction
from halfbyte.activations.policy.sfpr import sfpr

__all__ = ["Comet", "comet"]


class Comet(ErrorControl):
    """See `comet`."""

    def __str__(self) -> str:
        return f"comet(target={self.target:g})"


def comet(
    optimizer: torch.optim.Optimizer | None = None,
    *,
    target: float = 0.01,
    every: int = 1000,
    warmup: int = 20,
    others: PolicyFunction | None = None,
    coder: Coder = "huffman",
    scaler: torch.amp.GradScaler | None = None,
) -> Comet:
    """Error bounds for what convolutions and linear layers read, as loose as training bears: the error of
    such a tensor makes noise in the gradient of the weight that it is multiplied by, whose standard deviation
    is held at `target` times the mean of that weight's |momentum|.

    The noise follows from the bound e by a law: its variance is e²/3 · R · ‖L_k‖² for output channel k, with
    R the share of the input that is not 0, and L_k the gradient at the output, which is seen in backward.
    Bounds are set anew every so many steps of the optimizer. Momentum is Σ βⁱ gᵢ, as `torch.optim.SGD` keeps
    it; Adam's first moment is divided by 1 - β₁; for an optimizer without either, the sum is kept here with
    β = 0.9. Accumulated gradients count together, and so do ranks.

    `comet(…).table()` says, for every tensor, its bound, the noise predicted and the noise measured.

    Args:
        optimizer: of the model; or `follow(optimizer)` later. Wrappers with the optimizer inside will do.
        target: noise allowed, relative to the mean |momentum|, above 0.
        every: steps of the optimizer from one measurement to the next.
        warmup: steps until the first; the next come after as many, twice as many, and so on until `every`.
            Until the first, `others` holds everything.
        others: policy for all other tensors; `sfpr()` unless given, which is eight bits. It must not measure
            itself, as `budget` does.
        coder: of `ErrorBounded`: "huffman", or "fixed" for more speed and less compression.
        scaler: the loss's, where gradients are scaled.

    Raises:
        ValueError: an option is not as described.

    Source: COMET (VLDB 2022) §4. The law is used in its exact form, with the sum over the map, instead of the
    paper's estimate with a fitted constant; momentum is meant as SGD has it.
    """
    return Comet(
        optimizer,
        target=target,
        scale=Momentum(),
        every=every,
        warmup=warmup,
        others=sfpr() if others is None else others,
        coder=coder,
        scaler=scaler,
    )
