"""The cheapest fidelity on which a short burst of training does as well as on the originals."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from tuning_tasks import TEXTURE_FROM, VIEW, Net, everything, loss, optimizer_of, train

import halfbyte
from halfbyte.tuning import LossProbe

FULL = 10


def policy_of(
    model: nn.Module, optimizer: torch.optim.Optimizer, function: Any = loss, **options: Any
) -> LossProbe:
    defaults = {"every": 3, "burst": 12, "batch_size": 16, "tolerance": 0.1, "share": math.inf, "seed": 1}
    return LossProbe(model, optimizer, function, **{**defaults, **options})


def loader_of(path: Path, policy: Any) -> halfbyte.Loader:
    return halfbyte.Loader(halfbyte.open(path, transform=VIEW), batch_size=32, fidelity=policy)


def start(path: Path, **options: Any) -> tuple[halfbyte.Loader, Net, torch.optim.Optimizer]:
    model = Net()
    optimizer = optimizer_of(model)
    torch.manual_seed(0)
    return loader_of(path, policy_of(model, optimizer, **options)), model, optimizer


def test_texture_needs_a_high_fidelity(textured_path: Path) -> None:
    loader, model, optimizer = start(textured_path)
    train(loader, model, optimizer, epochs=1)
    policy = loader.policy
    log = policy.log
    assert len(log) == 3
    for decision in log[1:]:
        assert decision.fidelity >= TEXTURE_FROM
        assert all(decision.figures[f"loss_{k}"] > 0.5 for k in policy.ladder if k < TEXTURE_FROM)
        assert decision.figures[f"loss_{FULL}"] < 0.3


def test_colour_needs_the_lowest_only(coloured_path: Path) -> None:
    loader, model, optimizer = start(coloured_path)
    train(loader, model, optimizer, epochs=1)
    log = loader.policy.log
    assert [d.fidelity for d in log] == [FULL, 1, 1]
    assert log[1].figures.keys() == {"loss_1", "loss_10", "seconds"}
    assert str(log[1]) == (
        f"epoch 0, step 3: fidelity 1, since 12 steps at it end with a loss of "
        f"{log[1].figures['loss_1']:.4g}, which is within 5.0% of the {log[1].figures['loss_10']:.4g} of full"
    )


def test_full_is_kept_where_nothing_else_serves(textured_path: Path) -> None:
    loader, model, optimizer = start(textured_path, candidates=[1, 4], every=6)
    train(loader, model, optimizer, epochs=1)
    assert [d.fidelity for d in loader.policy.log] == [FULL, FULL]
    assert "no lower one comes near enough: fidelity" in loader.policy.log[1].why


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_training_with_probes_is_training_without(textured_path: Path, kind: str) -> None:
    results = []
    for probing in (False, True):
        model = Net()
        optimizer = optimizer_of(model) if kind == "sgd" else torch.optim.Adam(model.parameters())
        torch.manual_seed(0)
        policy = policy_of(model, optimizer, candidates=[1], tolerance=1e-9) if probing else None
        train(loader_of(textured_path, policy), model, optimizer, epochs=1)
        results.append(everything(model, optimizer))
    assert len(policy.log) == 3
    assert [d.fidelity for d in policy.log] == [FULL] * 3
    assert results[0] == results[1]


def test_the_burst_is_plain_training(textured_path: Path) -> None:
    """A probe's loss is what one gets by hand from the same samples."""
    loader, model, optimizer = start(textured_path)
    policy = loader.policy
    samples = policy._draw(0, 0)
    before = everything(model, optimizer)
    state = torch.get_rng_state()
    value = policy._try(samples, 6)
    assert everything(model, optimizer) == before
    torch.set_rng_state(state)
    trained, held = samples.split(12)
    for batch in trained.at(6):
        optimizer.zero_grad()
        loss(model, batch).backward()
        optimizer.step()
    with torch.no_grad():
        values = [loss(model, batch).item() for batch in held.at(FULL)]
    assert len(values) == 4
    assert value == sum(values) / 4


def scripted(policy: LossProbe, values: list[dict[int, float]]) -> None:
    probes = iter(values)
    now: dict[int, float] = {}

    def outcome(samples: Any, fidelity: int) -> float:
        if fidelity == FULL:
            now.update(next(probes))
        return now[fidelity]

    policy._try = outcome  # type: ignore[method-assign]


def test_losses_about_the_tolerance_change_nothing(coloured_path: Path) -> None:
    model = Net()
    policy = policy_of(model, optimizer_of(model), every=1, candidates=[2, 5], tolerance=0.1)
    scripted(
        policy,
        [
            {FULL: 2.0, 2: 2.3, 5: 2.15},  # 5 is within a tenth, but going below full takes a twentieth
            {FULL: 2.0, 2: 2.3, 5: 2.08},
            {FULL: 2.0, 2: 2.15, 5: 2.15},  # 5 may stay; 2 would be lower
            {FULL: 2.0, 2: 1.0, 5: 2.3},
            {FULL: 2.0, 2: 2.15, 5: 1.0},  # 2 stays
            {FULL: 2.0, 2: 2.3, 5: 2.15},  # up, no further than needed
            {FULL: -2.0, 2: -1.7, 5: -1.7},
        ],
    )
    list(loader_of(coloured_path, policy))
    assert [d.fidelity for d in policy.log] == [FULL, FULL, 5, 5, 2, 2, 5, FULL]


def nan_loss(model: nn.Module, batch: dict[str, Any]) -> torch.Tensor:
    return loss(model, batch) * math.nan


def broken_loss(model: nn.Module, batch: dict[str, Any]) -> torch.Tensor:
    value = loss(model, batch)
    if not value.requires_grad:
        raise ValueError("no such key")
    return value


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (nan_loss, "ArithmeticError: the loss after 12 steps at fidelity 10 is nan"),
        (broken_loss, "ValueError: no such key"),
    ],
)
def test_probes_that_fail_mean_full(coloured_path: Path, function: Any, reason: str) -> None:
    """The second fails after its burst: what that changed is given back too."""
    model = Net()
    optimizer = optimizer_of(model)
    policy = policy_of(model, optimizer, function, every=5)
    loader = loader_of(coloured_path, policy)
    before = everything(model, optimizer)
    with pytest.warns(UserWarning, match=f"probe 0 failed with {reason}") as caught:
        list(loader)
    assert len(caught) == 1
    assert [(d.step, d.fidelity) for d in policy.log] == [(0, FULL), (5, FULL)]
    assert everything(model, optimizer) == before


def test_an_optimizer_that_needs_a_closure_means_full(coloured_path: Path) -> None:
    model = Net()
    policy = policy_of(model, torch.optim.LBFGS(model.parameters()), every=5)
    with pytest.warns(UserWarning, match="closure"):
        list(loader_of(coloured_path, policy))
    assert policy.fidelity == FULL


@pytest.mark.parametrize("stop", [3, 8, 12])
def test_a_resumed_run_decides_the_same(coloured_path: Path, stop: int) -> None:
    # A probe before each epoch: within one, how far reading is ahead decides for which records it is late.
    options = {"candidates": [1, 5], "every": 8}
    whole = start(coloured_path, **options)
    train(*whole, epochs=3)
    state = train(*start(coloured_path, **options), epochs=3, stop=stop)
    again = start(coloured_path, **options)
    loader, model, optimizer = again
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    loader.load_state_dict(json.loads(json.dumps(state["loader"])))
    torch.set_rng_state(state["random"])
    train(*again, epochs=3)
    assert len(loader.policy.log) == 3
    assert [str(d) for d in loader.policy.log] == [str(d) for d in whole[0].policy.log]
    assert everything(model, optimizer) == everything(*whole[1:])


@pytest.mark.parametrize("options", [{"burst": 0}, {"tolerance": 0}, {"tolerance": math.inf}])
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    model = Net()
    with pytest.raises(ValueError, match=next(iter(options))):
        policy_of(model, optimizer_of(model), **options)
