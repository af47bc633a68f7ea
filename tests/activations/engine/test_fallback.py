"""Where torch lacks what the engine rests on, and where it is first used in an odd place."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from equality import POLICIES, assert_same_training, step
from nets import ResNet, ViT
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode

from halfbyte.activations.codecs.cast import Cast
from halfbyte.activations.engine import compress as entering
from halfbyte.activations.engine import lifetime, self_test
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.owners import GraphWalk, NodeCreation

pytestmark = pytest.mark.filterwarnings("ignore:compression")
eagerly = pytest.mark.filterwarnings("ignore:.*does not tell who saves a tensor")


def pictures() -> Tensor:
    return torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(3))


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch that cannot tell."""
    monkeypatch.setattr(entering, "can_defer", lambda: False)


@eagerly
@pytest.mark.usefixtures("blind")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("net", [ResNet, ViT])
def test_without_knowing_savers_training_is_the_same(net: Callable[[], nn.Module], policy: str) -> None:
    assert_same_training(net(), pictures(), policy=policy)
    assert_same_training(net(), pictures(), policy=policy, inside=True)


@pytest.mark.usefixtures("blind")
def test_without_knowing_savers_a_lossy_codec_still_trains_and_says_so_once() -> None:
    model = ResNet()
    stock = step(model, (pictures(),), model=model)
    model.zero_grad()
    compressor = compress(model, policy=lambda saved: Cast("bfloat16"), min_bytes=0)
    with pytest.warns(UserWarning, match="does not tell who saves a tensor"):
        ours = step(model, (pictures(),), compressor=compressor, model=model)
    for name, gradient in stock.tensors.items():
        if name.endswith("weight"):
            assert float((gradient - ours.tensors[name]).norm() / gradient.norm()) < 0.05, name
    assert {row.codec for row in ours.ledger.rows("packed")} == {"Cast(bfloat16)", "Indices"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(model, (pictures(),), compressor=compressor, model=model)


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Nothing is known yet about this torch."""
    tests = (self_test.can_defer, lifetime.counts_references, lifetime._own_count)
    for test in tests:
        test.cache_clear()
    yield
    for test in tests:
        test.cache_clear()


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("missing", ["_storage_Use_Count", "_autograd._get_sequence_nr"])
def test_missing_private_function_is_noticed(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(f"torch._C.{missing}")
    assert self_test.can_defer() is False


@pytest.mark.usefixtures("forgotten")
def test_counts_that_are_off_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch._C, "_storage_Use_Count", lambda address: 7)
    assert self_test.can_defer() is False


@pytest.mark.usefixtures("forgotten")
def test_savers_that_are_not_found_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GraphWalk, "claim", lambda self, node: None)
    monkeypatch.setattr(NodeCreation, "claim", lambda self, node: None)
    assert self_test.can_defer() is False


@pytest.mark.usefixtures("forgotten")
def test_this_torch_can_defer() -> None:
    assert self_test.can_defer() is True


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    "mode",
    [
        torch.inference_mode,
        torch.no_grad,
        partial(torch.device, "meta"),
        partial(torch.autocast, "cpu", torch.bfloat16),
        FakeTensorMode,
        torch.autograd.graph.save_on_cpu,
    ],
    ids=["inference", "no_grad", "meta", "autocast", "fake", "hooks"],
)
def test_first_use_in_any_mode_does_not_mislead(mode: Callable[[], Any]) -> None:
    with mode():
        assert self_test.can_defer() is True


@pytest.mark.usefixtures("forgotten")
def test_first_use_within_a_function_transform_does_not_mislead() -> None:
    answers: list[bool] = []

    def function(x: Tensor) -> Tensor:
        answers.append(self_test.can_defer())
        return x.sin().sum()

    torch.func.grad(function)(torch.randn(4))
    assert answers == [True]


def test_numbers_of_nodes_of_two_threads_may_coincide() -> None:
    """Sequence numbers count each thread's nodes: a graph that is begun on another one repeats them."""

    def function(model: nn.Module, x: Tensor) -> Tensor:
        parts: list[Tensor] = []

        def work() -> None:
            parts.extend(torch.relu(x * i).sin() for i in range(1, 20))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        return model(torch.stack(parts).mean(0)).tanh()  # type: ignore[no-any-return]

    for policy in POLICIES:
        assert_same_training(ResNet(), pictures(), policy=policy, function=function)
