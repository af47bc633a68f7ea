"""Exceptions come out as they were raised, and leave nothing behind."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import torch
from equality import OWNERS, Feigned, owners_found_by
from nets import ResNet
from torch import Tensor, nn

from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.slots import Entry, Slot
from halfbyte.activations.policy.saved_tensor import Policy, SavedTensor

pytestmark = pytest.mark.filterwarnings("ignore:compression")


class Broken(Exception):
    """What no library raises."""


class BadEncode(Feigned):
    def encode(self, x: Tensor, *, key: int = 0) -> Packed:
        raise Broken("encode")


class BadDecode(Feigned):
    def decode(self, packed: Packed) -> Tensor:
        raise Broken("decode")


class BadStep(Policy):
    def begin_step(self, step: int, epoch: int) -> None:
        raise Broken("begin_step")


def bad_policy(saved: SavedTensor) -> Codec:
    raise Broken("policy")


class Bad(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise Broken("forward")


def pictures() -> Tensor:
    return torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(3))


def assert_nothing_left(compressor: compress) -> None:
    gc.collect()  # of the exception, whose frames refer to what was computed in them
    torch.zeros((), requires_grad=True).backward()  # torch keeps a failed backward until the next one
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None
    assert not nn.modules.module._global_forward_hooks
    assert not nn.modules.module._global_forward_pre_hooks
    assert compressor._entered() == []
    assert compressor.ledger.held_bytes == 0


def assert_works_after(model: nn.Module) -> None:
    with compress(model, policy=lambda saved: Feigned(), min_bytes=0) as ledger:
        model(pictures()).sum().backward()
    assert ledger.totals("packed").calls > 0
    assert ledger.held_bytes == 0


@pytest.mark.parametrize("owners", OWNERS)
@pytest.mark.parametrize(
    ("policy", "what"),
    [(bad_policy, "policy"), (lambda saved: BadEncode(), "encode"), (BadStep(), "begin_step")],
    ids=["policy", "encode", "begin_step"],
)
def test_what_fails_while_packing_is_raised_as_it_is(
    policy: Callable[[SavedTensor], Codec], what: str, owners: str
) -> None:
    model = ResNet()
    compressor = compress(model, policy=policy, min_bytes=0)
    with owners_found_by(owners), pytest.raises(Broken, match=what), compressor:
        model(pictures()).sum()
    assert_nothing_left(compressor)
    assert_works_after(model)


def test_what_fails_while_settling_at_the_end_is_raised_as_it_is() -> None:
    x = torch.randn(8, 8, requires_grad=True)
    compressor = compress(policy=bad_policy, min_bytes=0)
    with pytest.raises(Broken, match="policy"), compressor:  # noqa: PT012
        y = x.exp()
        z = y.sin().cos()
        del y
    assert_nothing_left(compressor)
    (gradient,) = torch.autograd.grad(z.sum(), x)
    assert torch.equal(gradient, torch.autograd.grad(x.exp().sin().cos().sum(), x)[0])


def test_what_fails_while_unpacking_is_raised_as_it_is() -> None:
    model = ResNet()
    compressor = compress(model, policy=lambda saved: BadDecode(), min_bytes=0)
    compressor.load_state_dict({"step": 1, "epoch": 0, "seed": 0, "policy": {}})  # no errors are measured
    with compressor:
        loss = model(pictures()).sum()
    for _ in range(2):
        with pytest.raises(Broken, match="decode"):
            loss.backward(retain_graph=True)
    assert compressor.ledger.held_bytes > 0
    del loss
    assert_nothing_left(compressor)


def test_failure_in_a_module_leaves_the_names_right() -> None:
    model = nn.Sequential(nn.Sigmoid(), nn.Sequential(nn.Tanh(), Bad()), nn.Softplus())
    compressor = compress(model, policy=lambda saved: Feigned(), min_bytes=0)
    with compressor as ledger:
        with pytest.raises(Broken, match="forward"):
            model(torch.randn(8, 8, requires_grad=True))
        y = model[2](torch.randn(8, 8, requires_grad=True) * 1)
    assert {row.path for row in ledger.rows() if row.savers or row.size} == {"2"}
    del y
    assert_nothing_left(compressor)


def test_failure_in_forward_leaves_no_bytes() -> None:
    model = nn.Sequential(ResNet(classes=64), nn.Softplus(), Bad())
    compressor = compress(model, policy=lambda saved: Feigned(), min_bytes=0)
    with pytest.raises(Broken, match="forward"), compressor:
        model(pictures())
    assert_nothing_left(compressor)
    assert sum(type(thing) in (Entry, Slot) for thing in gc.get_objects()) == 0
    assert_works_after(model[:2])


def test_failure_in_backward_inside_the_context_leaves_nothing() -> None:
    model = ResNet()
    compressor = compress(model, policy=lambda saved: Feigned(), min_bytes=0)

    def fail(gradient: Tensor) -> None:
        raise Broken("hook")

    def train() -> None:
        with compressor:
            stem = model.stem(pictures())
            stem.register_hook(fail)
            model.head(model.blocks(stem).mean((2, 3))).sum().backward()

    with pytest.raises(Broken, match="hook"):
        train()
    assert_nothing_left(compressor)
    assert_works_after(model)
