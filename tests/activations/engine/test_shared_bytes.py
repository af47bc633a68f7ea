"""Tensors of the same bytes share one encoding, whatever their shapes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from halfbyte.activations.codecs.base import Codec
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
