"""What losses read is exact under every preset; so are the results of softmax. The names are those that torch
gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from halfbyte.activations.policy.gist import gist
from halfbyte.activations.policy.group_quantized import group_quantized
from halfbyte.activations.policy.jpeg_act import jpeg_act
from halfbyte.activations.policy.lossless import lossless
from halfbyte.activations.policy.saved_tensor import Plan, PolicyFunction, SavedTensor, Saver
from halfbyte.activations.policy.sfpr import sfpr

PRESETS = [lossless(), sfpr(), jpeg_act(), gist(), group_quantized()]


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
    "softmax": lambda x: x.softmax(1).sum(),
    "log_softmax": lambda x: x.log_softmax(1).sum(),
    "logsumexp": lambda x: x.logsumexp(1).sum(),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("policy", PRESETS, ids=lambda policy: type(policy).__name__)
def test_losses_read_exact_tensors(policy: PolicyFunction, loss: str) -> None:
    x = torch.randn(64, 100, requires_grad=True)
    savers = list(savers_of(LOSSES[loss](x), x.shape))
    assert savers
    for saver in savers:
        plan = policy(SavedTensor((64, 100), torch.float32, torch.device("cpu"), 25600, (saver,)))
        assert isinstance(plan, Plan)
        assert plan.codec is None
        assert plan.why


@pytest.mark.parametrize("policy", PRESETS[1:], ids=lambda policy: type(policy).__name__)
def test_one_loss_among_the_readers_is_enough(policy: PolicyFunction) -> None:
    readers = (Saver("AddmmBackward0", "mat1"), Saver("MseLossBackward0", "self"))
    both = SavedTensor((64, 100), torch.float32, torch.device("cpu"), 25600, readers)
    one = SavedTensor((64, 100), torch.float32, torch.device("cpu"), 25600, readers[:1])
    assert policy(both) == Plan(None, "read by a loss")
    plan = policy(one)
    assert isinstance(plan, Plan)
    assert plan.codec is not None


def test_statistics_of_attention_are_exact() -> None:
    savers = (Saver("ScaledDotProductFlashAttentionForCpuBackward0", "logsumexp"),)
    saved = SavedTensor((64, 12, 197), torch.float32, torch.device("cpu"), 605184, savers)
    assert group_quantized()(saved) == Plan(None, "statistics of attention")
