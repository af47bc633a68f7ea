"""What losses read is exact under every policy. The names are those that torch gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from halfbyte.activations.policy.needs import Need, need_of
from halfbyte.activations.policy.saved_tensor import Saver


def savers_of(y: Tensor, size: torch.Size) -> Iterator[Saver]:
    """Every node behind `y` that saved a float tensor of this size, with its field."""
    nodes: list[Any] = [y.grad_fn]
    while nodes:
        node = nodes.pop()
        for name in dir(node):
            value = getattr(node, name) if name.startswith("_saved_") else None
            if isinstance(value, Tensor) and value.dtype is torch.float32 and value.shape == size:
                yield Saver(node.name(), name.removeprefix("_saved_"))
        nodes += [parent for parent, _ in node.next_functions if parent is not None]


LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    "cross_entropy": lambda x: F.cross_entropy(x, torch.zeros(64, dtype=torch.long)),
    "mse": lambda x: F.mse_loss(x, torch.zeros_like(x)),
    "l1": lambda x: F.l1_loss(x, torch.zeros_like(x)),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, torch.zeros_like(x)),
    "huber": lambda x: F.huber_loss(x, torch.zeros_like(x)),
    "logits": lambda x: F.binary_cross_entropy_with_logits(x, torch.ones_like(x)),
    "soft_margin": lambda x: F.soft_margin_loss(x, torch.ones_like(x)),
    "multi_margin": lambda x: F.multi_margin_loss(x, torch.zeros(64, dtype=torch.long)),
    "log_softmax": lambda x: x.log_softmax(1).sum(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_read_exact_tensors(loss: str) -> None:
    x = torch.randn(64, 100, requires_grad=True)
    savers = list(savers_of(LOSSES[loss](x), x.shape))
    assert savers
    reduced = {Saver("NllLossBackward0", "self")}
    assert {need_of(*saver) for saver in savers if saver not in reduced} == {Need.EXACT}
