"""Recomputation and accumulation together with compression."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from equality import POLICIES, Run, assert_same, assert_same_training, differences, step
from nets import ResNet, ViT
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from halfbyte.activations.engine.compress import compress

pytestmark = pytest.mark.filterwarnings("ignore:compression", "ignore:saved-tensor hooks are set already")
policies = pytest.mark.parametrize("policy", POLICIES)
reentrant = pytest.mark.parametrize("reentrant", [False, True], ids=["new", "reentrant"])
inside = pytest.mark.parametrize("inside", [False, True], ids=["backward outside", "backward inside"])


def pictures() -> Tensor:
    return torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(3))


def resnet(reentrant: bool) -> Any:
    def forward(model: ResNet, x: Tensor) -> Tensor:
        x = model.stem(x)
        for block in model.blocks:
            x = checkpoint(block, x, use_reentrant=reentrant)
        return model.head(F.adaptive_avg_pool2d(x, 1).flatten(1))  # type: ignore[no-any-return]

    return forward


@policies
@reentrant
@inside
def test_recomputed_blocks_are_the_same(policy: str, reentrant: bool, inside: bool) -> None:
    assert_same_training(ResNet(), pictures(), policy=policy, inside=inside, function=resnet(reentrant))


@reentrant
@inside
def test_recomputed_dropout_is_the_same(reentrant: bool, inside: bool) -> None:
    def forward(model: ViT, x: Tensor) -> Tensor:
        x = model.patches(x).flatten(2).transpose(1, 2)
        for block in model.blocks:
            x = checkpoint(block, x, use_reentrant=reentrant)
        return model.head(model.norm(x).mean(1))  # type: ignore[no-any-return]

    assert_same_training(ViT(dropout=0.3), pictures(), inside=inside, function=forward)


@reentrant
def test_recomputed_in_segments_is_the_same(reentrant: bool) -> None:
    def forward(model: ResNet, x: Tensor) -> Tensor:
        layers = nn.Sequential(*model.stem, *model.blocks)
        y = checkpoint_sequential(layers, 3, x, use_reentrant=reentrant)
        return model.head(y.mean((2, 3)))  # type: ignore[no-any-return]

    assert_same_training(ResNet(inplace=False), pictures(), function=forward)


@policies
@reentrant
def test_context_within_what_is_recomputed_is_the_same(policy: str, reentrant: bool) -> None:
    class Compressed(nn.Module):
        def __init__(self, block: nn.Module) -> None:
            super().__init__()
            self.block = block
            self.compressor = compress(policy=POLICIES[policy], min_bytes=0)

        def forward(self, x: Tensor) -> Tensor:
            with self.compressor:
                return self.block(x)  # type: ignore[no-any-return]

    def train(wrap: Callable[[nn.Module], nn.Module]) -> Run:
        torch.manual_seed(1)
        model = ResNet()

        def forward(x: Tensor) -> Tensor:
            x = model.stem(x)
            for block in model.blocks:
                x = checkpoint(wrap(block), x, use_reentrant=reentrant)
            return model.head(x.mean((2, 3)))  # type: ignore[no-any-return]

        return step(forward, (pictures(),), model=model)

    found = differences(train(lambda block: block), train(Compressed))
    # Nothing is left to recompute, so that statistics of batches are taken once and not twice.
    assert [name for name in found if "running" not in name and "tracked" not in name] == []


def test_what_a_region_saves_of_its_inputs_gets_its_values() -> None:
    """Its inputs look like what ReLU saves of its result, but no node has saved them."""

    def forward(x: Tensor, weight: Tensor) -> Tensor:
        y = F.relu(F.conv2d(x * 1, weight))
        return checkpoint(lambda y: F.conv2d(y, weight).sin(), y, use_reentrant=False) * 2  # type: ignore[no-any-return]

    weight = torch.randn(4, 4, 3, 3, generator=torch.Generator().manual_seed(8))
    x = torch.randn(2, 4, 12, 12, generator=torch.Generator().manual_seed(9))
    for policy in POLICIES:
        assert_same(forward, x, weight, policy=policy)


@policies
def test_gradients_accumulate_to_the_same(policy: str) -> None:
    def train(model: nn.Module, x: Tensor) -> Tensor:
        for part in x.split(2):
            model(part).square().mean().backward()
        return model(x)  # type: ignore[no-any-return]

    assert_same_training(ResNet(), pictures(), policy=policy, inside=True, function=train)


def test_context_within_a_region_says_that_recomputation_sees_nothing() -> None:
    x = torch.randn(8, 8, requires_grad=True)
    compressor = compress(policy=POLICIES["none"], min_bytes=0)

    def function(x: Tensor) -> Tensor:
        with compressor:
            return x.exp().sin()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        checkpoint(function, x, use_reentrant=False)
    assert [w for w in told if "torch applies the innermost only" in str(w.message)]
