"""Whatever is done with a model, afterwards it is as before."""

from __future__ import annotations

import copy
import random

import numpy as np
import pytest
import torch
from torch import nn
from tuning_tasks import Net, everything

from halfbyte.tuning.unchanged import parameters_of, unchanged


def havoc(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Everything that training could do, and more."""
    model.train()
    for _ in range(3):
        model(torch.randn(8, 3, 12, 12)).square().sum().backward()
        optimizer.step()
        for parameter in model.parameters():
            parameter.grad = None if parameter.grad is None else parameter.grad * 2
    model.eval()
    model.norm.running_mean = torch.full((8,), 7.0)
    for parameter in model.parameters():
        parameter.requires_grad = False
    optimizer.param_groups[0]["lr"] = 99.0
    optimizer.param_groups[0]["extra"] = "new"
    random.random()
    np.random.rand()


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.1)),
    "fused": lambda p: torch.optim.AdamW(p, lr=0.1, fused=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_havoc_leaves_no_trace(make, warm: bool, fails: bool) -> None:
    model = Net()
    optimizer = make(list(model.parameters()))
    if warm:
        model(torch.randn(8, 3, 12, 12)).square().sum().backward()
        optimizer.step()
    model.drop.eval()
    model.head.weight.requires_grad = False
    gradients = [p.grad for p in model.parameters()]
    buffers = dict(model.named_buffers())
    inner = [id(value) for state in optimizer.state.values() for value in state.values()]
    pythons = random.getstate()
    before = everything(model, optimizer)

    def run() -> None:
        with unchanged(model, optimizer):
            assert all(p.grad is None for p in model.parameters())
            model.head.weight.requires_grad = True
            havoc(model, optimizer)
            assert everything(model, optimizer) != before
            if fails:
                raise KeyboardInterrupt

    if fails:
        with pytest.raises(KeyboardInterrupt):
            run()
    else:
        run()
    assert everything(model, optimizer) == before
    assert random.getstate() == pythons
    assert all(a is b for a, b in zip(gradients, [p.grad for p in model.parameters()], strict=True))
    assert all(buffer is buffers[name] for name, buffer in model.named_buffers())
    assert inner == [id(value) for state in optimizer.state.values() for value in state.values()]


def test_training_goes_on_to_the_bit() -> None:
    plain, model = Net(), Net()
    runs = [(m, torch.optim.Adam(m.parameters(), lr=0.1)) for m in (plain, model)]
    for step in range(4):
        images = torch.randn(8, 3, 12, 12, generator=torch.Generator().manual_seed(step))
        for m, optimizer in runs:
            if m is model:
                with unchanged(m, optimizer):
                    havoc(m, optimizer)
            torch.manual_seed(step)
            optimizer.zero_grad()
            m(images).square().sum().backward()
            optimizer.step()
    assert everything(*runs[0]) == everything(*runs[1])


def test_nested_states_of_lists_come_back() -> None:
    """LBFGS keeps lists of tensors."""
    model = nn.Linear(4, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    x = torch.randn(16, 4)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        value = (model(x) - x.sum(1, keepdim=True)).square().mean()
        value.backward()
        return value

    optimizer.step(closure)
    before = everything(model, optimizer)
    with unchanged(model, optimizer):
        optimizer.step(closure)
        assert everything(model, optimizer) != before
    assert everything(model, optimizer) == before


def test_expanded_and_missing_buffers_come_back() -> None:
    model = nn.Module()
    model.register_buffer("wide", torch.ones(1, 3).expand(4, 3))
    model.register_buffer("none", None)
    with unchanged(model):
        model.wide.data[0] += 1
        model.none = torch.zeros(2)
        model.register_buffer("new", torch.zeros(2))
    assert torch.equal(model.wide, torch.ones(4, 3))
    assert model.none is None
    assert "new" not in dict(model.named_buffers())


def test_a_graph_that_was_built_before_still_runs() -> None:
    model = nn.Linear(4, 4)
    value = model(torch.randn(2, 4)).square().sum()
    version = model.weight._version
    with unchanged(model):
        pass
    assert model.weight._version == version
    value.backward()


def test_parameters_of_the_optimizer_alone_come_back() -> None:
    model, extra = nn.Linear(2, 2), nn.Parameter(torch.ones(2))
    extra.grad = torch.ones(2)
    optimizer = torch.optim.SGD([*model.parameters(), extra], lr=0.1)
    held = extra.grad
    assert len(parameters_of(model, optimizer)) == 3
    with unchanged(model, optimizer):
        assert extra.grad is None
        extra.grad = torch.ones(2)
        optimizer.step()
    assert torch.equal(extra, torch.ones(2))
    assert extra.grad is held


def test_schedulers_see_no_step() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    before = copy.copy(vars(optimizer))
    with unchanged(model, optimizer):
        optimizer.step()
        assert vars(optimizer) != before
    assert vars(optimizer) == before
