"""Weights that are not plain parameters, and parts of models that do not learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from equality import POLICIES, Run, assert_same, assert_same_training, differences, step
from nets import ResNet, ViT
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from halfbyte.activations.codecs.cast import Cast
from halfbyte.activations.engine import compress as entering
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.policy.saved_tensor import SavedTensor

pytestmark = pytest.mark.filterwarnings("ignore:compression")
policies = pytest.mark.parametrize("policy", POLICIES)


def normal(*size: int) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(sum(size)))


def halved(saved: SavedTensor) -> Cast:
    return Cast("bfloat16")


class Adapted(nn.Module):
    """A frozen layer, and a small one of low rank that learns beside it (LoRA)."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.base = nn.Linear(width, width).requires_grad_(False)
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 0.5 * self.up(self.down(self.dropout(x)))  # type: ignore[no-any-return]


def layers(kind: Callable[[nn.Module], nn.Module]) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        kind(nn.Conv2d(3, 8, 3)), nn.LeakyReLU(0.2), kind(nn.Conv2d(8, 8, 3)), nn.ReLU(), nn.Flatten(),
        kind(nn.Linear(8 * 16, 4)),
    )  # fmt: skip


@policies
@pytest.mark.parametrize("kind", [weight_norm, spectral_norm])
def test_parametrized_weights_are_the_same(kind: Any, policy: str) -> None:
    assert_same_training(layers(kind), normal(2, 3, 8, 8), policy=policy)


@pytest.mark.parametrize("kind", [weight_norm, spectral_norm])
def test_parametrized_weights_are_not_packed(kind: Any) -> None:
    model = layers(kind)
    with compress(model, policy=halved, min_bytes=0) as ledger:
        model(normal(2, 3, 8, 8)).exp().sin()
    packed = {saver for row in ledger.rows("packed") for saver in row.savers}
    assert ("ConvolutionBackward0", "input") in packed
    assert not {("ConvolutionBackward0", "weight"), ("AddmmBackward0", "mat2")} & packed


@policies
def test_adapters_of_low_rank_are_the_same(policy: str) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(Adapted(16, 2), nn.GELU(), Adapted(16, 2), nn.ReLU(), Adapted(16, 2))
    assert_same_training(model, normal(8, 16), policy=policy)
    assert_same_training(model, normal(8, 16), policy=policy, inside=True)


@policies
def test_frozen_backbone_is_the_same(policy: str) -> None:
    model = ResNet()
    for part in (model.stem, model.blocks[0]):
        part.requires_grad_(False)
    assert_same_training(model, normal(2, 3, 16, 16), policy=policy)

    def features(model: ResNet, x: Tensor) -> Tensor:
        with torch.no_grad():
            x = model.blocks(model.stem(x)).mean((2, 3))
        return model.head(x).tanh()  # type: ignore[no-any-return]

    assert_same_training(model, normal(2, 3, 16, 16), policy=policy, function=features)


@policies
def test_weights_from_outside_are_the_same(policy: str) -> None:
    """As in meta-learning: weights after a step, which have a history of their own."""
    model = ResNet().eval()

    def adapt(x: Tensor) -> Tensor:
        weights = {name: p.detach().requires_grad_() for name, p in model.named_parameters()}
        loss = torch.func.functional_call(model, weights, (x,)).square().mean()
        steps = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        fast = {name: w - 0.1 * g for (name, w), g in zip(weights.items(), steps, strict=True)}
        return torch.func.functional_call(model, fast, (x,)).tanh()  # type: ignore[no-any-return]

    assert_same(adapt, normal(2, 3, 12, 12), policy=policy, inside=True)
    assert_same(adapt, normal(2, 3, 12, 12), policy=policy)


@policies
def test_averaged_copy_of_a_model_is_the_same(policy: str) -> None:
    def train(model: nn.Module, x: Tensor) -> Tensor:
        average = deepcopy(model).requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(2):
            optimizer.zero_grad()
            (model(x) - average(x.flip(0))).square().mean().backward()
            optimizer.step()
            for mean, p in zip(average.parameters(), model.parameters(), strict=True):
                mean.lerp_(p.detach(), 0.5)
        return model(x) + average(x)  # type: ignore[no-any-return]

    assert_same_training(ResNet(), normal(2, 3, 12, 12), policy=policy, inside=True, function=train)


@policies
def test_torch_attention_and_embeddings_are_the_same(policy: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(30, 16, padding_idx=0)
            self.attention = nn.MultiheadAttention(16, 2, dropout=0.1, kdim=16, vdim=8, batch_first=True)
            self.head = nn.Linear(16, 30, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, x: Tensor) -> Tensor:
            e = self.embedding((x.abs() * 10).long().clamp(max=29)) + x[..., None]
            y, weights = self.attention(e, e, e[..., :8], need_weights=True)
            logits = self.head(F.rms_norm(y, (16,)) + weights.sum())
            return F.cross_entropy(logits.flatten(0, 1), x.flatten().abs().long())

    torch.manual_seed(1)
    assert_same_training(Model(), normal(2, 7), policy=policy)


@contextmanager
def unpacked() -> Iterator[list[Tensor]]:
    """All that backward gets of graphs that are built within."""
    seen: list[Tensor] = []
    unpack = entering.unpack

    def spy(packed: Any) -> Tensor:
        seen.append(unpack(packed))
        return seen[-1]

    with patch.object(entering, "unpack", spy):
        yield seen


def test_weights_are_never_copied() -> None:
    torch.manual_seed(1)
    model = nn.ModuleList([nn.Linear(64, 192), ViT(64), nn.Conv2d(3, 8, 3, bias=False)])
    with unpacked() as seen, compress(model, policy=halved, min_bytes=64):
        x = torch.randn(32, 64, requires_grad=True) * 1
        q, k, v = (F.linear(x, w) for w in model[0].weight.chunk(3))
        y = F.linear(q * k, model[0].weight[:64].t()) + v
        loss = y.sum() + model[1](normal(2, 3, 16, 16)).sum() + model[2](normal(2, 3, 9, 9)).sum()
    loss.backward()
    pointers = {p.untyped_storage().data_ptr() for p in model.parameters()}
    weights = {p.numel() for p in model.parameters() if p.dim() > 1} | {64 * 64}
    got = [t for t in seen if t.numel() in weights and t.untyped_storage().data_ptr() in pointers]
    assert len(got) == 4 + 10 + 1


def test_running_statistics_are_never_copied() -> None:
    model = ResNet(width=32).eval()
    with unpacked() as seen, compress(model, policy=halved, min_bytes=0):
        loss = model(normal(2, 3, 16, 16)).sum()
    loss.backward()
    buffers = {b.data_ptr() for b in model.buffers() if b.dim()}
    assert {t.data_ptr() for t in seen} >= buffers


def test_frozen_parameters_count_as_the_models() -> None:
    layer = nn.Conv2d(3, 8, 3).requires_grad_(False)
    with compress(policy=halved, min_bytes=0) as ledger:
        y = layer(normal(2, 3, 9, 9).requires_grad_() * 1).sin().exp()
    assert ledger.totals("model").before == layer.weight.numel() * 4
    y.sum().backward()


def test_policy_of_another_model_leaves_this_one_alone() -> None:
    """Nothing is known of its buffers and frozen weights then, but that somebody holds them."""

    def run(compressor: compress | None) -> Run:
        torch.manual_seed(1)
        model = ResNet()
        model.blocks[0].requires_grad_(False)
        return step(model, (normal(2, 3, 16, 16),), compressor=compressor, model=model)

    stock = run(None)
    for model in (None, ViT()):
        for policy in POLICIES.values():
            assert differences(stock, run(compress(model, policy=policy, min_bytes=0))) == []
