"""What a policy would do to a model, without training it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.example import run_example, tensors_of, unchanged
from halfbyte.activations.engine.exclusion import Exclude
from halfbyte.activations.engine.ledger import Ledger
from halfbyte.activations.policy.saved_tensor import PolicyFunction

__all__ = ["Preview", "preview"]


class Preview:
    """A table of every tensor that one forward pass saves.

    Attributes:
        ledger: the same, to compute with.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def to_dict(self) -> dict[str, Any]:
        """The rows and totals as JSON values."""
        return self.ledger.to_dict()

    def __str__(self) -> str:
        return self.ledger.report(by="tensor")

    __repr__ = __str__


def preview(
    model: nn.Module,
    example: Any,
    policy: PolicyFunction,
    *,
    exclude: Exclude = (),
    min_bytes: int = 4096,
) -> Preview:
    """Run one forward pass and tell, for every tensor saved for backward, who saved it, which codec it would
    get, its bytes before and after, and the error of the values.

        print(halfbyte.activations.preview(model, images, halfbyte.activations.jpeg_act()))

    Nothing about the model changes: parameters, buffers, gradients, training mode and random generators are
        afterwards
    what they were.

    Args:
        model: in the mode that it would train in.
        example: an input; a tuple of positional or a dict of keyword arguments if the model takes several.
        policy: as for `compress`; so are `exclude` and `min_bytes`.
    """
    ledger = Ledger()
    compressor = compress(model, policy=policy, exclude=exclude, min_bytes=min_bytes, ledger=ledger)
    with unchanged(model), torch.enable_grad(), compressor:
        # Only the graph stays, so that outputs that nobody would hold in training are not held here.
        nodes = [
            tensor.grad_fn for tensor in tensors_of(run_example(model, example)) if tensor.grad_fn is not None
        ]
        compressor.reach(nodes)
    return Preview(ledger)
