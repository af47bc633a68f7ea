"""Tensors of the same bytes share one encoding, whatever their shapes."""

from __future__ import annotations

import pytest
import torch
from equality import Feigned
from torch import Tensor

from halfbyte.activations.codecs.base import Codec, Packed
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.policy.saved_tensor import SavedTensor


def attention(x: Tensor) -> Tensor:
    """Softmax of scores, saved as (B, H, T, T), and by the product after it as (B * H, T, T)."""
    y = (x @ x.transpose(2, 3)).softmax(3) @ x
    return (y * 1.0).sin().sum()


def test_softmax_and_the_product_after_it_hold_one_tensor() -> None:
    x = torch.randn(2, 4, 32, 32, requires_grad=True)
    with compress(policy=lambda saved: Sfpr()) as ledger:
        attention(x * 1.0).backward()
    shared = [row for row in ledger.rows() if any(saver.node == "SoftmaxBackward0" for saver in row.savers)]
    assert {saver.node for saver in shared[0].savers} == {"SoftmaxBackward0", "BmmBackward0"}


@pytest.mark.filterwarnings("ignore:compression")
def test_each_saver_gets_its_own_shape() -> None:
    def exact(saved: SavedTensor) -> Codec | None:
        return None

    x = torch.randn(2, 4, 32, 32, requires_grad=True)
    attention(x * 1.0).backward()
    expected, x.grad = x.grad, None
    with compress(policy=exact, min_bytes=0):
        attention(x * 1.0).backward()
    assert x.grad is not None
    assert expected is not None
    assert torch.equal(x.grad, expected)


def test_shape_alone_is_given_in_every_shape() -> None:
    x = torch.randn(4, 8, 16, 16, requires_grad=True)

    def pools(x: Tensor) -> Tensor:
        y = x * 1.0
        a = torch.nn.functional.avg_pool2d(y, 2)
        b = torch.nn.functional.avg_pool2d(y.view(8, 4, 16, 16), 2)
        del y
        return (a.sum() + (b * b).sum() + (a * 1.0).sin().sum()) * 1.0

    pools(x).backward()
    expected, x.grad = x.grad, None
    with compress(policy=lambda saved: None, min_bytes=0):
        loss = pools(x)
    loss.backward()
    assert x.grad is not None
    assert expected is not None
    assert torch.equal(x.grad, expected)


class Turned(Feigned):
    """Decodes to strides of its own."""

    def decode(self, packed: Packed) -> Tensor:
        return super().decode(packed).to(memory_format=torch.channels_last)


@pytest.mark.filterwarnings("ignore:compression")
def test_codec_with_strides_of_its_own_keeps_its_values() -> None:
    x = torch.randn(2, 4, 6, 6, requires_grad=True)

    def shapes(x: Tensor) -> Tensor:
        y = (x * 1.0).tanh()
        return (y.sin() + y.flatten(1).cos().view(y.shape)).tanh().sum()

    shapes(x).backward()
    expected, x.grad = x.grad, None
    with compress(policy=lambda saved: Turned(), min_bytes=0) as ledger:
        loss = shapes(x)
    loss.backward()
    assert ledger.totals("packed").unpacks >= 3
    assert x.grad is not None
    assert expected is not None
    assert torch.equal(x.grad, expected)
