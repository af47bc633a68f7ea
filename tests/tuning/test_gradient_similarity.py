"""The cheapest fidelity at which the gradient points where that of the originals does."""

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
from halfbyte.tuning import GradientSimilarity
from halfbyte.tuning.gradient_similarity import cosine

FULL = 10


def policy_of(model: nn.Module, function: Any = loss, **options: Any) -> GradientSimilarity:
    return GradientSimilarity(
        model, function, **{"every": 8, "batches": 2, "share": math.inf, "seed": 1, **options}
    )


def loader_of(path: Path, policy: Any) -> halfbyte.Loader:
    return halfbyte.Loader(halfbyte.open(path, transform=VIEW), batch_size=32, fidelity=policy)


def trained(path: Path, *, epochs: int = 3, **options: Any) -> GradientSimilarity:
    """Eight steps an epoch, a probe before each epoch but the first."""
    model = Net()
    policy = policy_of(model, **options)
    torch.manual_seed(0)
    train(loader_of(path, policy), model, optimizer_of(model), epochs=epochs)
    return policy


def test_texture_needs_a_high_fidelity(textured_path: Path) -> None:
    policy = trained(textured_path)
    assert len(policy.log) == 3
    for decision in policy.log[1:]:
        assert TEXTURE_FROM <= decision.fidelity < FULL
        assert all(decision.figures[f"cosine_{k}"] < 0.8 for k in policy.ladder if k < TEXTURE_FROM)


def test_colour_needs_the_lowest_only(coloured_path: Path) -> None:
    policy = trained(coloured_path, threshold=0.9)
    assert [d.fidelity for d in policy.log] == [FULL, 1, 1]
    # The first that serves ends the search.
    assert policy.log[1].figures.keys() == {"cosine_1", "seconds"}
    value = policy.log[1].figures["cosine_1"]
    assert str(policy.log[1]) == (
        f"epoch 1, step 0: fidelity 1, since its gradient has a cosine of {value:.4f} with that of full, and "
        "0.92 is needed"
    )


def test_full_is_kept_where_nothing_else_serves(textured_path: Path) -> None:
    policy = trained(textured_path, candidates=[1, 4], epochs=2)
    assert [d.fidelity for d in policy.log] == [FULL, FULL]
    assert "no lower one has a gradient near enough to its own: the nearest, at" in policy.log[1].why


def test_training_with_probes_is_training_without(textured_path: Path) -> None:
    """Dropout and BatchNorm included: what is read stays full, and nothing else may differ."""
    results = []
    for probing in (False, True):
        model = Net()
        optimizer = optimizer_of(model)
        torch.manual_seed(0)
        policy = policy_of(model, every=3, candidates=[1, 2]) if probing else None
        train(loader_of(textured_path, policy), model, optimizer, epochs=2)
        results.append(everything(model, optimizer))
    assert len(policy.log) == 6
    assert results[0] == results[1]


@pytest.mark.parametrize("training", [True, False])
def test_a_probe_leaves_no_trace(textured_path: Path, training: bool) -> None:
    model = Net()
    policy = policy_of(model, every=1)
    loader = loader_of(textured_path, policy)
    batches = iter(loader)
    loss(model, next(batches)).backward()
    model.train(training)
    model.conv.bias.grad = None
    gradients = [p.grad for p in model.parameters()]
    before = everything(model)
    next(batches)
    assert f"cosine_{policy.ladder[0]}" in policy.log[1].figures
    assert everything(model) == before
    assert all(a is b for a, b in zip(gradients, [p.grad for p in model.parameters()], strict=True))
    loader.close()


def test_full_has_a_cosine_of_1_with_itself(textured_path: Path) -> None:
    """With dropout on: the random states are the same for both."""
    model = Net()
    policy = policy_of(model)
    loader_of(textured_path, policy)
    samples = policy._draw(0, 0)
    first, second = policy._gradient(samples, FULL), policy._gradient(samples, FULL)
    assert cosine(first, second) == pytest.approx(1, abs=1e-12)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_cosines_are_those_of_flat_gradients() -> None:
    a, b = torch.randn(2, 3, 5, 7)
    expected = torch.nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0).item()
    assert cosine([*a, None], [*b, None]) == pytest.approx(expected, abs=1e-6)
    # A parameter that only one of them uses counts in its length.
    one = torch.ones(1)
    assert cosine([one, one], [one, None]) == pytest.approx(math.sqrt(0.5))


def scripted(policy: GradientSimilarity, values: list[list[float]]) -> None:
    """Cosines as given, one list a probe, cheapest candidate first."""
    probes = iter(values)
    now: list[float] = []

    def gradient(samples: Any, fidelity: int) -> Any:
        if fidelity == FULL:
            now[:] = next(probes)
        return []

    policy._gradient = gradient  # type: ignore[method-assign]
    policy._similarity = lambda reference, samples, fidelity: now.pop(0)  # type: ignore[method-assign]


def test_cosines_about_the_threshold_change_nothing(coloured_path: Path) -> None:
    policy = policy_of(nn.Identity(), every=1, candidates=[2, 5], threshold=0.9, hysteresis=0.5)
    scripted(
        policy,
        [
            [0.90, 0.94],  # neither reaches 0.95, which going below full takes
            [0.90, 0.96],
            [0.94, 0.90],  # 5 stays at 0.9; 2 is lower, and would need 0.95
            [0.96, 0.10],
            [0.90, 0.10],  # 2 stays
            [0.89, 0.90],  # up, no further than needed
            [0.89, 0.89],
        ],
    )
    loader = loader_of(coloured_path, policy)
    list(loader)
    assert [d.fidelity for d in policy.log] == [FULL, FULL, 5, 5, 2, 2, 5, FULL]


def nan_loss(model: nn.Module, batch: dict[str, Any]) -> torch.Tensor:
    return loss(model, batch) * math.nan


def zero_loss(model: nn.Module, batch: dict[str, Any]) -> torch.Tensor:
    return loss(model, batch) * 0


def broken_loss(model: nn.Module, batch: dict[str, Any]) -> torch.Tensor:
    model.eval()
    model.norm.running_mean.fill_(3)
    raise ValueError("no such key")


def vector_loss(model: nn.Module, batch: dict[str, Any]) -> torch.Tensor:
    return model(batch["image"].float())


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (nan_loss, "ArithmeticError: the gradient at fidelity 10 is not finite"),
        (zero_loss, "ArithmeticError: the gradient at fidelity 10 is zero"),
        (broken_loss, "ValueError: no such key"),
        (vector_loss, "RuntimeError: grad can be implicitly created only for scalar outputs"),
    ],
)
def test_probes_that_fail_mean_full(coloured_path: Path, function: Any, reason: str) -> None:
    model = Net()
    policy = policy_of(model, function, every=5)
    loader = loader_of(coloured_path, policy)
    before = everything(model)
    with pytest.warns(UserWarning, match=f"probe 0 failed with {reason}") as caught:
        list(loader)
    assert len(caught) == 1
    assert [(d.step, d.fidelity) for d in policy.log] == [(0, FULL), (5, FULL)]
    assert reason in policy.log[1].why
    assert everything(model) == before


def test_a_low_fidelity_goes_when_gradients_fail(coloured_path: Path) -> None:
    model = Net()
    policy = policy_of(model, every=4, threshold=0.9)
    loader = loader_of(coloured_path, policy)
    assert len(list(loader)) == 8
    assert loader.fidelity == 1
    model.head.weight.data.fill_(math.nan)
    with pytest.warns(UserWarning, match="not finite"):
        next(iter(loader))
    loader.close()
    assert loader.fidelity == FULL
    assert policy.log[2].fidelity == FULL


def test_a_resumed_run_decides_the_same(textured_path: Path) -> None:
    # A probe before each epoch: within one, how far reading is ahead decides for which records it is late.
    def start() -> tuple[halfbyte.Loader, Net, torch.optim.Optimizer]:
        model = Net()
        return loader_of(textured_path, policy_of(model)), model, optimizer_of(model)

    torch.manual_seed(0)
    whole = start()
    train(*whole, epochs=3)
    for stop in (3, 8, 11, 20):
        torch.manual_seed(0)
        state = train(*start(), epochs=3, stop=stop)
        again = start()
        loader, model, optimizer = again
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(json.loads(json.dumps(state["loader"])))
        torch.set_rng_state(state["random"])
        train(*again, epochs=3)
        for a, b in zip(loader.policy.log, whole[0].policy.log, strict=True):
            assert str(a) == str(b)
            assert {**a.figures, "seconds": 0} == {**b.figures, "seconds": 0}
        assert everything(model, optimizer) == everything(*whole[1:])


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 0},
        {"threshold": 1},
        {"threshold": math.nan},
        {"hysteresis": -0.01},
        {"hysteresis": 1},
        {"hysteresis": math.nan},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        policy_of(nn.Identity(), **options)
