"""Whole models train as they do without compression, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from equality import OWNERS, POLICIES, assert_same_training, owners_found_by
from nets import Encoder, Recurrent, ResNet, UNet, ViT
from torch import Tensor, nn

pytestmark = pytest.mark.filterwarnings("ignore:compression")


def pictures() -> Tensor:
    return torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(3))


def sequences(width: int) -> Tensor:
    return torch.randn(4, 9, width, generator=torch.Generator().manual_seed(4))


NETS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "ResNet in place": (ResNet, pictures),
    "ResNet": (lambda: ResNet(inplace=False), pictures),
    "ViT": (ViT, pictures),
    "UNet": (UNet, pictures),
    "LSTM": (Recurrent, lambda: sequences(12)),
    "Transformer": (Encoder, lambda: sequences(32)),
}
IMAGE_NETS = [name for name, (_, inputs) in NETS.items() if inputs is pictures]


def build(name: str) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(1)
    model, inputs = NETS[name]
    return model(), inputs()


@pytest.mark.parametrize("inside", [False, True], ids=["backward outside", "backward inside"])
@pytest.mark.parametrize(
    ("policy", "min_bytes"), [("none", 0), ("none", 4096), ("stored", 0), ("feigned", 0), ("feigned", 4096)]
)
@pytest.mark.parametrize("net", NETS)
def test_model_trains_as_without(net: str, policy: str, min_bytes: int, inside: bool) -> None:
    model, x = build(net)
    ledger = assert_same_training(model, x, policy=policy, min_bytes=min_bytes, inside=inside)
    if policy != "none" and min_bytes == 0:
        assert ledger.totals("packed").calls > 0


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("net", IMAGE_NETS)
def test_model_in_channels_last_trains_as_without(net: str, policy: str) -> None:
    model, x = build(net)
    x = x.to(memory_format=torch.channels_last)
    assert_same_training(model.to(memory_format=torch.channels_last), x, policy=policy)


@pytest.mark.parametrize("net", IMAGE_NETS)
def test_model_with_frozen_statistics_trains_as_without(net: str) -> None:
    model, x = build(net)
    assert_same_training(model.eval(), x)


@pytest.mark.parametrize("owners", OWNERS)
@pytest.mark.parametrize("net", NETS)
def test_savers_found_in_any_way_give_the_same(net: str, owners: str) -> None:
    model, x = build(net)
    with owners_found_by(owners):
        assert_same_training(model, x, policy="none")
        assert_same_training(model, x, policy="feigned", inside=True)


def test_three_steps_of_an_optimizer_end_in_the_same_weights() -> None:
    def train(model: nn.Module, x: Tensor) -> Tensor:
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        for _ in range(3):
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return model(x)

    model, x = build("ResNet in place")
    assert_same_training(model, x, inside=True, function=train)
