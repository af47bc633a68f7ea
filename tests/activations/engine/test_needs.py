"""The table of needs, proven: backward gets only what it is said to read, and the gradient is equal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from halfbyte.activations.engine.owners import GraphWalk
from halfbyte.activations.engine.slots import Entry, Slot
from halfbyte.activations.policy.needs import NEEDS, Need, need_of, register_need


def _labels() -> Tensor:
    return torch.arange(4) % 3


def _image_labels() -> Tensor:
    return (torch.arange(4 * 6 * 6) % 3).view(4, 6, 6)


# What runs each node of the table on an input of shape (4, 3, 6, 6), or the shape that comes with it.
EXAMPLES: dict[str, Callable[[Tensor], Tensor] | tuple[tuple[int, ...], Callable[[Tensor], Tensor]]] = {
    "MaxPool2DWithIndicesBackward0": lambda x: F.max_pool2d(x, 2),
    "MaxPool3DWithIndicesBackward0": ((2, 3, 4, 4, 4), lambda x: F.max_pool3d(x, 2)),
    "AvgPool2DBackward0": lambda x: F.avg_pool2d(x, 2),
    "AvgPool3DBackward0": ((2, 3, 4, 4, 4), lambda x: F.avg_pool3d(x, 2)),
    "AdaptiveAvgPool2DBackward0": lambda x: F.adaptive_avg_pool2d(x, 2),
    "AdaptiveAvgPool3DBackward0": ((2, 3, 4, 4, 4), lambda x: F.adaptive_avg_pool3d(x, 2)),
    "AdaptiveMaxPool2DBackward0": lambda x: F.adaptive_max_pool2d(x, 2),
    "AdaptiveMaxPool3DBackward0": ((2, 3, 4, 4, 4), lambda x: F.adaptive_max_pool3d(x, 2)),
    "ReflectionPad1DBackward0": ((2, 3, 6), lambda x: F.pad(x, (1, 1), "reflect")),
    "ReflectionPad2DBackward0": lambda x: F.pad(x, (1, 1, 1, 1), "reflect"),
    "ReflectionPad3DBackward0": ((2, 3, 4, 4, 4), lambda x: F.pad(x, (1,) * 6, "reflect")),
    "ReplicationPad1DBackward0": ((2, 3, 6), lambda x: F.pad(x, (1, 1), "replicate")),
    "ReplicationPad2DBackward0": lambda x: F.pad(x, (1, 1, 1, 1), "replicate"),
    "ReplicationPad3DBackward0": ((2, 3, 4, 4, 4), lambda x: F.pad(x, (1,) * 6, "replicate")),
    "GatherBackward0": lambda x: x.gather(0, torch.tensor([[[[1]]], [[[0]]]])),
    "NllLossBackward0": ((4, 3), lambda x: F.nll_loss(x, _labels())),
    "NllLoss2DBackward0": lambda x: F.nll_loss(x, _image_labels()),
    "ReluBackward0": torch.relu,
    "LeakyReluBackward0": lambda x: F.leaky_relu(x, 0.1),
    "LeakyReluBackward1": lambda x: F.leaky_relu(x, 0.1, inplace=True),
}
REDUCED = sorted(key for key, need in NEEDS.items() if need <= Need.SIGN)


def run(name: str, spoil: Need | None) -> tuple[Tensor, set[tuple[str, str]]]:
    """The gradient, and every field of the node that was spoiled: reduced to what this need leaves of it."""
    example = EXAMPLES[name]
    shape, function = example if isinstance(example, tuple) else ((4, 3, 6, 6), example)
    spoiled: set[tuple[str, str]] = set()

    def pack(t: Tensor) -> Slot:
        return Slot(Entry(t.detach(), 0, {}), -1)

    def unpack(slot: Slot) -> Tensor:
        alias = slot.entry.alias
        assert alias is not None
        if spoil is None or slot.saver is None or need_of(*slot.saver) is not spoil:
            return alias
        spoiled.add((slot.saver.node, slot.saver.field))
        return torch.full_like(alias, float("nan")) if spoil is Need.SHAPE else (alias > 0).to(alias.dtype)

    x = torch.randn(shape, generator=torch.Generator().manual_seed(7), requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = function(x * 1.0)
    GraphWalk().learn(y.grad_fn, current=-1)
    y.backward(torch.rand(y.shape, generator=torch.Generator().manual_seed(8)))
    assert x.grad is not None
    return x.grad, spoiled


@pytest.mark.parametrize(("node", "field"), REDUCED, ids=[".".join(key) for key in REDUCED])
def test_gradient_is_the_same_without_what_backward_does_not_read(node: str, field: str) -> None:
    expected, _ = run(node, None)
    gradient, spoiled = run(node, NEEDS[node, field])
    assert (node, field) in spoiled, "the example must make this node save this field"
    assert torch.equal(gradient, expected)


def test_spoiling_what_is_read_shows() -> None:
    x = torch.randn(8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * float("nan")):
        y = x.exp().sin()
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.isnan().all()


def test_what_is_not_listed_needs_its_value() -> None:
    assert need_of("GeluBackward0", "self") is Need.VALUE


def test_need_of_an_operator_can_be_registered() -> None:
    register_need("MyFunctionBackward", "tensors", Need.SHAPE)
    assert need_of("MyFunctionBackward", "tensors") is Need.SHAPE


def test_builtin_need_cannot_be_lowered() -> None:
    with pytest.raises(
        ValueError, match=r"ReluBackward0\.result needs SIGN, got SHAPE; .* raised, not lowered"
    ):
        register_need("ReluBackward0", "result", Need.SHAPE)
