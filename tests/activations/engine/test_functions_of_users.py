"""Autograd functions that users write, and operations in place."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from equality import OWNERS, POLICIES, Feigned, assert_same, owners_found_by
from programs import Halve, Squares
from torch import Tensor

from halfbyte.activations.engine.compress import compress

pytestmark = pytest.mark.filterwarnings("ignore:compression")
policies = pytest.mark.parametrize("policy", POLICIES)


def normal(*size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(sum(size)))


class Relu(torch.autograd.Function):
    """Named like torch's own, but it reads the values of what it saves."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        result = x.relu()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * ctx.saved_tensors[0]


class Nested(torch.autograd.Function):
    """Builds a graph of its own within, as recomputation does."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            y = F.relu(inner * 2).sin()
            (ctx.slope,) = torch.autograd.grad(y.sum(), inner)
        ctx.save_for_backward(x, y.detach(), (x > 0))
        return y.detach()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        x, y, positive = ctx.saved_tensors
        return gradient * ctx.slope + 0 * x * y * positive


class NewStyle(torch.autograd.Function):
    """With `setup_context`, and an output that is saved and not differentiable."""

    @staticmethod
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        values, order = x.sort(-1)
        return values * values, order

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> Tensor:
        x, _squares, order = ctx.saved_tensors
        return torch.zeros_like(x).scatter(-1, order, gradient * 2 * x.gather(-1, order))


@policies
@pytest.mark.parametrize("owners", OWNERS)
def test_functions_get_what_they_saved(policy: str, owners: str) -> None:
    def function(x: Tensor) -> Tensor:
        y = Squares.apply(x.sin(), F.relu(x), 0.5, None)
        y = Nested.apply(Relu.apply(y * 1 - 0.2)) + Halve.apply(y * 3)
        return NewStyle.apply(F.relu(y))[0].tanh()  # type: ignore[no-any-return]

    with owners_found_by(owners):
        assert_same(function, normal(16, 16), policy=policy)
        assert_same(function, normal(16, 16), policy=policy, inside=True)


@policies
def test_leaky_relu_before_a_layer_keeps_its_negative_values(policy: str) -> None:
    def function(x: Tensor, weight: Tensor) -> Tensor:
        y = F.leaky_relu(F.conv2d(x * 1, weight, padding=1), 0.2, inplace=True)
        y = F.leaky_relu(F.conv2d(y, weight, padding=1), 0.2)
        return F.conv2d(y * 1, weight).tanh()

    assert_same(function, normal(2, 4, 8, 8), normal(4, 4, 3, 3), policy=policy)


@policies
def test_operations_in_place_are_the_same(policy: str) -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        a = (x * 1).relu_()
        b = (y * 1).sigmoid_()
        c = (a + b).mul_(2).add_(b)
        c[:, :4].mul_(0.5)
        c.view(4, 4, 8)[1].exp_()
        buffer = torch.zeros(16, 8)
        buffer[::2] = c[::2] * a[::2]
        buffer[1::2].copy_(b[1::2])
        return F.dropout(buffer, 0.2, inplace=True).sin() + a

    assert_same(function, normal(16, 8), 2 * normal(16, 8), policy=policy)
    assert_same(function, normal(16, 8), 2 * normal(16, 8), policy=policy, inside=True)


@pytest.mark.parametrize("owners", OWNERS)
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("needs", ["value", "sign", "shape"])
def test_change_in_place_of_what_was_saved_is_an_error(needs: str, inside: bool, owners: str) -> None:
    x = normal(1, 4, 16, 16).requires_grad_()
    with owners_found_by(owners), compress(policy=lambda saved: Feigned(), min_bytes=0):
        y = {"value": x.exp, "sign": x.relu, "shape": x.cos}[needs]()
        z = y.sin() if needs == "value" else F.max_pool2d(y, 2) if needs == "shape" else y * 1
        if inside:
            y.mul_(2)
    if not inside:
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        (z.sum() + y.sum()).backward()


def test_tensor_changed_between_two_saves_is_two_tensors() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        y = y * 1
        first = x * y.detach().clone()
        shared = torch.zeros(16, 16)
        results = []
        for i in range(3):
            shared = shared.clone().add_(y, alpha=i)
            results.append(shared.sin())
        return first + sum(results)

    assert_same(function, normal(16, 16), normal(16, 16) + 1)


def test_same_tensor_saved_many_times_is_encoded_once() -> None:
    x = normal(64, 64).requires_grad_()
    with compress(policy=lambda saved: Feigned(), min_bytes=0) as ledger:
        y = x * 1
        z = y.sin() * y.cos() + y.exp()
        del y
        z = z.tanh() * 1
    packed = [row for row in ledger.rows("packed") if "Sin.self" in map(str, row.savers)]
    assert [(row.calls, sorted(map(str, row.savers))) for row in packed] == [(1, ["Cos.self", "Sin.self"])]
    z.sum().backward()
    assert x.grad is not None
