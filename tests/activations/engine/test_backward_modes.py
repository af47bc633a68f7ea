"""The ways in which backward can be run: again, of itself, for many at once, with hooks, forwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from equality import POLICIES, assert_same, assert_same_training, equal
from nets import ResNet
from torch import Tensor, nn
from torch.autograd import forward_ad

from halfbyte.activations.engine.compress import compress

pytestmark = pytest.mark.filterwarnings("ignore:compression")
policies = pytest.mark.parametrize("policy", POLICIES)


def normal(*size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(sum(size)))


def network(x: Tensor, weight: Tensor) -> Tensor:
    """Every kind of encoding: signs alone, beside values, shapes, indices, noise of dropout, values."""
    x = F.relu(F.conv2d(x * 1, weight))
    x = F.max_pool2d(F.leaky_relu(F.conv2d(x, weight), 0.1), 2)
    x = F.dropout(F.conv2d(F.relu(x), weight).sigmoid(), 0.2)
    return F.avg_pool2d(x.exp(), 2).sum((2, 3)).tanh()


def arguments() -> tuple[Tensor, Tensor]:
    return normal(2, 4, 16, 16), 0.4 * normal(4, 4, 3, 3)


def both(
    function: Callable[..., Any], policy: str, *inputs: Tensor, inside: bool = False
) -> tuple[list[Tensor], list[Tensor]]:
    """What a function that runs backward itself gives, of a graph built in stock torch and in a context."""
    results = []
    for compressed in (False, True):
        torch.manual_seed(11)
        leaves = [t.clone().requires_grad_() for t in inputs]
        if not compressed:
            results.append(list(function(network(*leaves), *leaves)))
            continue
        with compress(policy=POLICIES[policy], min_bytes=0):
            y = network(*leaves)
            if inside:
                results.append(list(function(y, *leaves)))
        if not inside:
            results.append(list(function(y, *leaves)))
    return results[0], results[1]


def assert_equal(pair: tuple[list[Tensor], list[Tensor]]) -> None:
    assert len(pair[0]) == len(pair[1]) > 0
    assert [equal(one, other) for one, other in zip(*pair, strict=True)] == [True] * len(pair[0])


@policies
def test_backward_twice_gives_the_same_twice(policy: str) -> None:
    def twice(y: Tensor, *leaves: Tensor) -> list[Tensor]:
        once = torch.autograd.grad(y.sum(), leaves, retain_graph=True)
        return [*once, *torch.autograd.grad(y.sum(), leaves)]

    stock, ours = both(twice, policy, *arguments())
    assert_equal((stock, ours))
    assert_equal((ours[:2], ours[2:]))


@policies
@pytest.mark.parametrize("inside", [False, True])
def test_gradient_of_a_gradient_is_the_same(policy: str, inside: bool) -> None:
    def double(y: Tensor, *leaves: Tensor) -> list[Tensor]:
        first = torch.autograd.grad(y.sum(), leaves, create_graph=True)
        penalty = sum(g.square().sum() for g in first)
        return [*first, *torch.autograd.grad(penalty, leaves)]

    assert_equal(both(double, policy, *arguments(), inside=inside))


@policies
def test_third_order_gradient_is_the_same(policy: str) -> None:
    def cubic(x: Tensor) -> Tensor:
        y = (F.leaky_relu(x * 1, 0.1).exp() * F.relu(x).sin()).sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
        return second.tanh()

    assert_same(cubic, normal(8, 8), policy=policy, inside=True)
    assert_same(cubic, normal(8, 8), policy=policy)


def test_backward_after_the_graph_was_freed_is_the_stock_error() -> None:
    x = normal(8, 8).requires_grad_()
    with compress(policy=POLICIES["feigned"], min_bytes=0):
        y = F.relu(x.exp()).sin().sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


@policies
def test_two_forwards_before_two_backwards_are_the_same(policy: str) -> None:
    def train(model: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
        return model(x).tanh(), model(x.flip(0)).tanh()

    assert_same_training(ResNet(), normal(4, 3, 16, 16), policy=policy, function=train)


def test_two_contexts_before_two_backwards_are_the_same() -> None:
    x = normal(16, 16).requires_grad_()
    compressor = compress(policy=POLICIES["feigned"], min_bytes=0)
    losses = []
    for scale in (1.0, 2.0):
        with compressor:
            losses.append(F.relu((x * scale).sin()).exp().sum())
    ours = [torch.autograd.grad(loss, x)[0] for loss in reversed(losses)]
    stock = [torch.autograd.grad(F.relu((x * scale).sin()).exp().sum(), x)[0] for scale in (2.0, 1.0)]
    assert_equal((stock, ours))


@policies
def test_gradients_of_a_batch_of_vectors_are_the_same(policy: str) -> None:
    def batched(y: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
        vectors = torch.eye(y.numel()).view(-1, *y.shape)
        return torch.autograd.grad(y, leaves, vectors, is_grads_batched=True)

    assert_equal(both(batched, policy, *arguments()))


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian_is_the_same(vectorize: bool) -> None:
    def function(x: Tensor) -> Tensor:
        return F.max_pool2d(F.relu(x.sin()).exp(), 2).flatten()

    x = normal(1, 2, 4, 4)
    expected = torch.autograd.functional.jacobian(function, x, vectorize=vectorize)
    with compress(policy=POLICIES["feigned"], min_bytes=0):
        assert torch.equal(torch.autograd.functional.jacobian(function, x, vectorize=vectorize), expected)
        hessian = torch.autograd.functional.hessian(lambda v: function(v).sum(), x, vectorize=vectorize)
    assert torch.equal(
        hessian, torch.autograd.functional.hessian(lambda v: function(v).sum(), x, vectorize=vectorize)
    )


@policies
def test_hooks_on_tensors_and_modules_see_the_same(policy: str) -> None:
    def train(model: ResNet, x: Tensor) -> tuple[Tensor, ...]:
        seen: list[Tensor] = []
        model.blocks[0].register_full_backward_hook(lambda _m, inputs, outputs: seen.extend(inputs + outputs))
        stem = model.stem(x)
        stem.retain_grad()
        stem.register_hook(lambda gradient: seen.append(gradient) or gradient * 0.5)  # type: ignore[func-returns-value]
        y = model.head(F.adaptive_avg_pool2d(model.blocks(stem), 1).flatten(1))
        y.sum().backward(retain_graph=True)
        return (y, *(t.clone().requires_grad_() for t in seen), stem.grad.requires_grad_())

    assert_same_training(ResNet(), normal(4, 3, 16, 16), policy=policy, inside=True, function=train)


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_finds_nothing() -> None:
    with torch.autograd.detect_anomaly():
        assert_same(network, *arguments(), inside=True)
        assert_same(network, *arguments())


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled", "ignore:Error detected in")
def test_anomaly_mode_names_the_operation_that_gave_nan() -> None:
    x = torch.zeros(8, 8, requires_grad=True)
    told = pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values")
    with told, torch.autograd.detect_anomaly(), compress(policy=POLICIES["feigned"], min_bytes=0):
        (F.relu(x).sqrt() * 0).sum().backward()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@policies
@pytest.mark.parametrize("inside", [False, True])
def test_dual_numbers_are_carried_forwards_and_backwards(policy: str, inside: bool) -> None:
    def dual(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        y = network(forward_ad.make_dual(x, normal(*x.shape)), weight)
        return y, forward_ad.unpack_dual(y).tangent

    with forward_ad.dual_level():
        assert_same(dual, *arguments(), policy=policy, inside=inside)


def test_function_transforms_are_refused_by_torch_and_leave_nothing_behind() -> None:
    compressor = compress(policy=POLICIES["feigned"], min_bytes=0)
    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"), compressor:
        torch.func.grad(lambda x: x.exp().sin().sum())(normal(8, 8))
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None


@policies
def test_vectorized_map_is_the_same(policy: str) -> None:
    def function(x: Tensor, weight: Tensor) -> Tensor:
        return torch.vmap(lambda v: F.max_pool2d(F.relu(F.conv2d(v[None] * 1, weight)).sin(), 2)[0])(x)

    assert_same(function, *arguments(), policy=policy)
    assert_same(function, *arguments(), policy=policy, inside=True)
