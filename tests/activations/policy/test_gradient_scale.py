"""Momentum in one unit, whatever the optimizer keeps."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW, NAdam, Optimizer, RAdam, RMSprop

from halfbyte.activations.policy.gradient_scale import GradientRms, GradientScale, Momentum, weights_of

OPTIMIZERS: dict[str, Callable[[list[nn.Parameter]], Optimizer]] = {
    "sgd": lambda p: SGD(p, 0.01, momentum=0.9),
    "sgd, dampened": lambda p: SGD(p, 0.01, momentum=0.9, dampening=0.5),
    "sgd without momentum": lambda p: SGD(p, 0.01),
    "adam": lambda p: Adam(p, 0.01),
    "adamw": lambda p: AdamW(p, 0.01, weight_decay=0.1),
    "nadam": lambda p: NAdam(p, 0.01),
    "radam": lambda p: RAdam(p, 0.01),
    "rmsprop": lambda p: RMSprop(p, 0.01, momentum=0.5),  # its momentum is not one of gradients
}


def gradients(count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(6, 4, generator=generator) + 0.3 for _ in range(count)]


def run(optimizer: Optimizer, scale: GradientScale, given: list[torch.Tensor]) -> float:
    (weight,) = weights_of(optimizer)
    for gradient in given:
        weight.parameter.grad = gradient.clone()
        optimizer.step()
        scale.see(optimizer, [weight], measuring=True)
    return scale.of(optimizer, weight)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_momentum_is_the_sum_of_fading_gradients(name: str) -> None:
    given = gradients(12)
    optimizer = OPTIMIZERS[name]([nn.Parameter(torch.zeros(6, 4))])
    expected = sum(0.9 ** (len(given) - 1 - i) * g for i, g in enumerate(given))
    if "dampened" in name:  # the first gradient is taken whole
        expected = expected + 0.9 ** (len(given) - 1) * given[0]
    assert isinstance(expected, torch.Tensor)
    assert run(optimizer, Momentum(), given) == pytest.approx(float(expected.abs().mean()), rel=1e-5)


def test_without_steps_nothing_is_known() -> None:
    for make in OPTIMIZERS.values():
        optimizer = make([nn.Parameter(torch.zeros(6, 4))])
        assert Momentum().of(optimizer, weights_of(optimizer)[0]) == 0
        assert GradientRms().of(optimizer, weights_of(optimizer)[0]) == 0


def test_rms_is_that_of_the_last_ten() -> None:
    given = gradients(13)
    optimizer = SGD([nn.Parameter(torch.zeros(6, 4))], 0.1)
    scale = GradientRms()
    expected = float(torch.stack(given[-10:]).square().mean().sqrt())
    assert run(optimizer, scale, given) == pytest.approx(expected, rel=1e-5)
    resumed = GradientRms()
    resumed.load_state_dict(json.loads(json.dumps(scale.state_dict())))
    assert resumed.of(optimizer, weights_of(optimizer)[0]) == pytest.approx(expected, rel=1e-5)


def test_rms_is_measured_when_told_so() -> None:
    optimizer = SGD([nn.Parameter(torch.zeros(2))], 0.1)
    (weight,) = weights_of(optimizer)
    weight.parameter.grad = torch.ones(2)
    scale = GradientRms()
    scale.see(optimizer, [weight], measuring=False)
    assert scale.of(optimizer, weight) == 0


def test_weights_are_numbered_as_the_optimizer_does() -> None:
    parameters = [nn.Parameter(torch.zeros(i + 1)) for i in range(3)]
    optimizer = SGD([{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.5}], 0.1)
    found = weights_of(optimizer)
    assert [(w.number, w.parameter.numel(), w.group["lr"]) for w in found] == [
        (0, 1, 0.1),
        (1, 2, 0.5),
        (2, 3, 0.5),
    ]
    numbers = [n for group in optimizer.state_dict()["param_groups"] for n in group["params"]]
    assert [w.number for w in found] == numbers
