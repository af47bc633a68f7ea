"""Several threads, and contexts within contexts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from equality import POLICIES, differences, step
from nets import ResNet, UNet
from torch import Tensor, nn

from halfbyte.activations.engine.compress import compress

pytestmark = pytest.mark.filterwarnings("ignore:compression")


def pictures(seed: int = 3) -> Tensor:
    return torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(seed))


def resnet() -> ResNet:
    torch.manual_seed(1)
    return ResNet()


def in_threads(*works: Callable[[], Any]) -> list[Any]:
    """What each returns; raises what any raises."""
    results: list[Any] = [None] * len(works)
    errors: list[BaseException] = []

    def work(i: int) -> None:
        try:
            results[i] = works[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
    return results


def gradients(model: nn.Module) -> list[Tensor]:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def assert_no_hooks() -> None:
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None
    assert not nn.modules.module._global_forward_hooks
    assert not nn.modules.module._global_forward_pre_hooks


def test_backward_on_another_thread_is_the_same() -> None:
    stock, ours = resnet(), resnet()
    stock(pictures()).square().sum().backward()
    with compress(ours, policy=POLICIES["feigned"], min_bytes=0) as ledger:
        loss = ours(pictures()).square().sum()
        held = ledger.held_bytes
        in_threads(loss.backward)
    assert all(map(torch.equal, gradients(stock), gradients(ours)))
    assert ledger.held_bytes == 0 <= held


def test_backward_on_another_thread_while_forward_goes_on() -> None:
    def pipeline(model: nn.Module, context: Any) -> list[Tensor]:
        losses: list[Tensor] = []
        ready, done = threading.Semaphore(0), threading.Semaphore(0)

        def backward() -> None:
            for i in range(12):
                assert ready.acquire(timeout=60)
                losses[i].backward()
                done.release()

        def forward() -> None:
            with context:
                for i in range(12):
                    losses.append(model(pictures(i)).square().sum())
                    ready.release()
                assert all(done.acquire(timeout=60) for _ in range(12))

        in_threads(backward, forward)
        return gradients(model)

    model = UNet().eval()
    expected = pipeline(model, torch.enable_grad())
    model.zero_grad()
    compressor = compress(model, policy=POLICIES["feigned"], min_bytes=0)
    assert all(map(torch.equal, expected, pipeline(model, compressor)))


@pytest.mark.parametrize("shared", [True, False], ids=["one compressor", "one compressor each"])
def test_contexts_on_four_threads_do_not_meet(shared: bool) -> None:
    models = [resnet() for _ in range(4)]
    expected = resnet()
    expected(pictures()).square().sum().backward()
    common = compress(nn.ModuleList(models), policy=POLICIES["feigned"], min_bytes=0)
    barrier = threading.Barrier(4, timeout=60)

    def work(i: int) -> None:
        compressor = common if shared else compress(models[i], policy=POLICIES["feigned"], min_bytes=0)
        barrier.wait()
        with compressor:
            models[i](pictures()).square().sum().backward()
            barrier.wait()

    in_threads(*(lambda i=i: work(i) for i in range(4)))  # type: ignore[misc]
    for model in models:
        assert all(map(torch.equal, gradients(expected), gradients(model)))
    paths = {row.path.split(".", 1)[0] for row in common.ledger.rows("packed")}
    assert paths == ({"0", "1", "2", "3"} if shared else set())
    assert_no_hooks()


class Meeting(nn.Module):
    """Computes while the other thread is in the midst of a module too."""

    def __init__(self, barrier: threading.Barrier) -> None:
        super().__init__()
        self.barrier = barrier

    def forward(self, x: Tensor) -> Tensor:
        self.barrier.wait()
        x = x.exp().sin()
        self.barrier.wait()
        return x


def test_names_are_of_the_thread_that_runs_the_module() -> None:
    barrier = threading.Barrier(2, timeout=60)
    model = nn.ModuleDict({"ours": Meeting(barrier), "theirs": Meeting(barrier)})
    x = torch.randn(64, 64, requires_grad=True)

    def ours() -> set[str]:
        with compress(model, policy=POLICIES["feigned"], min_bytes=0) as ledger:
            y = model["ours"](x) * 1
        y.sum().backward()
        return {row.path for row in ledger.rows("packed", "exact", "held") if row.savers}

    paths, _ = in_threads(ours, lambda: model["theirs"](x))
    assert paths == {"ours"}


def test_context_of_one_compressor_within_itself_is_the_same() -> None:
    def function(x: Tensor) -> Tensor:
        y = ours_model.stem(x)
        with compressor:
            y = ours_model.blocks(y)
        return ours_model.head(y.mean((2, 3)))  # type: ignore[no-any-return]

    stock_model, ours_model = resnet(), resnet()
    stock = step(stock_model, (pictures(),), model=stock_model)
    compressor = compress(ours_model, policy=POLICIES["feigned"], min_bytes=0)
    with pytest.warns(UserWarning, match="torch applies the innermost only"):
        ours = step(function, (pictures(),), compressor=compressor, model=ours_model)
    assert differences(stock, ours) == []
    assert compressor.ledger.steps == 2
    assert compressor.ledger.held_bytes == 0
    assert_no_hooks()


def test_threads_that_are_started_within_a_context_are_not_in_it() -> None:
    model = resnet()
    with compress(model, policy=POLICIES["feigned"], min_bytes=0) as ledger:
        in_threads(lambda: model(pictures()).sum().backward())
        assert ledger.totals().calls == 0
        model(pictures()).sum().backward()
    assert ledger.totals("packed").calls > 0
