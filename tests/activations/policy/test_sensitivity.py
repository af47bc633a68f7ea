from __future__ import annotations

import json

import torch
from nets import ResNet
from torch import Tensor, nn

from halfbyte.activations.engine.compress import compress
from halfbyte.activations.policy.budget import Budget, budget
from halfbyte.activations.policy.saved_tensor import SavedTensor


def images() -> Tensor:
    return torch.randn(8, 3, 32, 32, generator=torch.Generator().manual_seed(3))


class Watching(Budget):
    """Remembers what it was told."""

    def __init__(self) -> None:
        super().__init__(ratio=8)
        self.seen: list[tuple[SavedTensor, float, float]] = []

    def observe(self, saved: SavedTensor, spread: float, gradient: float) -> None:
        self.seen.append((saved, spread, gradient))


def test_gradient_of_the_savers_is_what_comes_back_to_them() -> None:
    first, second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
    policy = Watching()
    with compress(policy=policy):
        y = second(first(images()) * 1.0)
        y.retain_grad()
        y.square().sum().backward()
    told = {
        saved.size: gradient for saved, _, gradient in policy.seen if saved.saved_by("ConvolutionBackward0")
    }
    assert y.grad is not None
    torch.testing.assert_close(told[8, 8, 32, 32], float(y.grad.square().sum()), rtol=1e-4, atol=0)


def test_only_measuring_steps_are_watched() -> None:
    model = ResNet()
    policy = Watching()
    compressor = compress(model, policy=policy)
    for _ in range(2):
        with compressor:
            model(images()).square().sum().backward()
    told = len(policy.seen)
    assert told > 5
    assert len({(saved.path, saved.savers, saved.ordinal) for saved, _, _ in policy.seen}) == told


def test_budget_is_kept_after_the_first_step() -> None:
    model = ResNet(width=16)
    compressor = compress(model, policy=budget(ratio=10))
    for _ in range(2):
        compressor.ledger.reset()
        with compressor as ledger:
            model(images()).square().sum().backward()
    asked = [row for row in ledger.rows("packed") if "GroupQuantized" in row.codec]
    assert sum(row.before for row in asked) / sum(row.after for row in asked) >= 10
    assert len({row.codec for row in asked}) > 1, "some tensors must have got more bits than others"


def test_budget_goes_on_from_its_state() -> None:
    model = ResNet()
    one = compress(model, policy=budget(ratio=8))
    with one:
        model(images()).square().sum().backward()
    state = json.loads(json.dumps(one.state_dict()))
    two = compress(model, policy=budget(ratio=8))
    two.load_state_dict(state)
    codecs = []
    for compressor in (one, two):
        compressor.ledger.reset()
        with compressor as ledger:
            model(images()).square().sum().backward()
        codecs.append({(row.path, row.savers, row.codec) for row in ledger.rows("packed")})
    assert codecs[0] == codecs[1]
