"""Whose bytes live how long: nothing leaks, nothing waits, nothing is kept that could go."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from equality import OWNERS, Feigned, owners_found_by
from nets import ResNet, UNet, ViT
from torch import Tensor, nn

from halfbyte.activations.codecs.cast import Cast
from halfbyte.activations.engine import encoding
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.lifetime import outside_references
from halfbyte.activations.engine.session import Session
from halfbyte.activations.engine.slots import Entry, Slot
from halfbyte.activations.policy.saved_tensor import SavedTensor

pytestmark = pytest.mark.filterwarnings("ignore:compression")


def halved(saved: SavedTensor) -> Cast:
    return Cast("bfloat16")


def pictures(size: int = 16) -> Tensor:
    return torch.randn(4, 3, size, size, generator=torch.Generator().manual_seed(3))


@contextmanager
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def living(*kinds: type) -> int:
    return sum(type(thing) in kinds for thing in gc.get_objects())


def test_two_hundred_steps_leave_nothing() -> None:
    model = ResNet()
    compressor = compress(model, policy=halved, min_bytes=0)
    before = living(Entry, Slot, Session)
    with no_collector():
        for number in range(200):
            with compressor as ledger:
                loss = model(pictures(8)).sum()
                if number % 2:
                    loss.backward()
            if not number % 2:
                loss.backward()
        del loss
        assert ledger.held_bytes == 0
        assert living(Entry, Slot, Session) == before
    assert ledger.steps == 200


def test_dropped_graph_leaves_nothing() -> None:
    model = UNet()
    with no_collector():
        with compress(model, policy=halved, min_bytes=0) as ledger:
            y = model(pictures())
        assert ledger.held_bytes > 0
        assert living(Entry, Slot) > 0
        del y
        assert ledger.held_bytes == 0
        assert living(Entry, Slot, Session) == 0


def test_graph_dropped_within_the_context_leaves_nothing() -> None:
    model = ViT()
    with no_collector(), compress(model, policy=halved, min_bytes=0) as ledger:
        for _ in range(3):
            y = model(pictures())
        del y
        assert ledger.held_bytes == 0
        assert living(Entry, Slot) == 0


@pytest.mark.parametrize("net", [ResNet, UNet, ViT])
def test_packed_bytes_only_fall_in_backward(net: type[nn.Module]) -> None:
    model = net()
    with compress(model, policy=halved, min_bytes=0) as ledger:
        loss = model(pictures()).square().sum()
    held = [ledger.held_bytes]
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            parameter.register_post_accumulate_grad_hook(lambda _: held.append(ledger.held_bytes))
    with no_collector():
        loss.backward()
    assert len(held) > 5
    assert held == sorted(held, reverse=True)
    assert held[0] == ledger.peak_bytes
    assert ledger.held_bytes == 0


class Waiting:
    """Looks after each save at the bytes that wait for their encoding though nobody else holds them.

    Attributes:
        most: of them, in units of the two largest tensors together.
        saves: how often it looked.
    """

    def __init__(self) -> None:
        self.most = 0.0
        self.saves = 0
        self._largest: list[int] = []
        self._note = Session._note

    def note(self, session: Session, t: Tensor, nbytes: int, current: int) -> Slot:
        slot = self._note(session, t, nbytes, current)
        self.saves += 1
        self._largest = sorted([*self._largest, t.untyped_storage().nbytes()])[-2:]
        waiting = {
            pending.storage: entry.alias.untyped_storage().nbytes()
            for pending in session._pending.values()
            if (entry := pending.entry()) is not None and entry.alias is not None
            if outside_references(pending.storage, session._aliases[pending.storage]) == 0
        }
        self.most = max(self.most, sum(waiting.values()) / sum(self._largest))
        return slot


class Dense(nn.Module):
    """Every layer reads all before it; all are dropped at once."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(3 + 4 * i, 4, 3, 1, 1) for i in range(layers))
        self.last = nn.Conv2d(3 + 4 * layers, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        maps = [x]
        for layer in self.layers:
            maps.append(torch.tanh(layer(torch.cat(maps, 1))))
        x = self.last(torch.cat(maps, 1))
        del maps
        for _ in range(8):
            x = F.silu(x + 1)
        return x


class Listing(nn.Module):
    """Keeps many maps, and drops them together."""

    def forward(self, x: Tensor) -> Tensor:
        maps = [x * 1.0]
        for _ in range(20):
            maps.append(maps[-1].sin())
        total = torch.stack(maps).sum(0)
        del maps
        for _ in range(3):
            total = total.sin()
        return total


@pytest.mark.parametrize("owners", OWNERS)
@pytest.mark.parametrize("net", [ResNet, UNet, ViT, lambda: Dense(6), Listing])
def test_little_waits_for_its_encoding(net: Any, owners: str) -> None:
    waiting = Waiting()
    model = net()

    def note(session: Session, t: Tensor, nbytes: int, current: int) -> Slot:
        return waiting.note(session, t, nbytes, current)

    with (
        owners_found_by(owners),
        patch.object(Session, "_note", note),
        compress(model, policy=lambda saved: Feigned(), min_bytes=0),
    ):
        model(pictures(32).requires_grad_()).square().sum().backward()
    assert waiting.saves > 10
    assert waiting.most <= 1


@pytest.mark.parametrize("named", [True, False])
def test_answers_of_the_policy_do_not_pile_up_in_a_long_context(named: bool) -> None:
    model = ResNet()
    compressor = compress(model if named else None, policy=halved, min_bytes=0)
    counts = []
    with patch.object(encoding, "_MOST_ANSWERS", 40), compressor:
        for _ in range(8):
            model(pictures(8)).sum().backward()
            counts.append(len(compressor._answers))
    assert counts[1:] == [counts[0]] * 7 if named else max(counts) <= 40
