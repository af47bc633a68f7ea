"""The law of gradient noise against draws of it, by stock autograd."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from halfbyte.activations.policy.products import product_of
from halfbyte.activations.policy.saved_tensor import Saver

BOUND = 0.05
DRAWS = 120
CONVOLUTION = Saver("ConvolutionBackward0", "input")

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], Saver]] = {
    "plain": (lambda: nn.Conv2d(6, 8, 3, bias=False), (3, 6, 12, 12), CONVOLUTION),
    "padded": (lambda: nn.Conv2d(6, 8, 3, padding=1), (3, 6, 8, 8), CONVOLUTION),
    "strided": (lambda: nn.Conv2d(6, 8, 3, stride=2, padding=1), (3, 6, 13, 13), CONVOLUTION),
    "dilated": (lambda: nn.Conv2d(6, 8, 3, dilation=2, padding=2), (3, 6, 10, 10), CONVOLUTION),
    "grouped": (lambda: nn.Conv2d(6, 8, 3, groups=2, padding=1), (3, 6, 9, 9), CONVOLUTION),
    "depthwise": (lambda: nn.Conv2d(6, 6, 5, groups=6, padding=2, stride=2), (3, 6, 15, 15), CONVOLUTION),
    "oblong": (lambda: nn.Conv2d(6, 8, (1, 5), stride=(2, 1), padding=(0, 2)), (3, 6, 9, 7), CONVOLUTION),
    "in a line": (lambda: nn.Conv1d(6, 8, 7, padding=3, stride=3), (4, 6, 31), CONVOLUTION),
    "in a volume": (lambda: nn.Conv3d(4, 6, 3, padding=1), (2, 4, 5, 6, 7), CONVOLUTION),
    "transposed": (lambda: nn.ConvTranspose2d(6, 8, 3, stride=2, padding=1), (3, 6, 9, 9), CONVOLUTION),
    "wide padding": (lambda: nn.Conv2d(6, 8, 3, padding=4), (3, 6, 5, 5), CONVOLUTION),
    "linear": (lambda: nn.Linear(20, 10), (64, 20), Saver("AddmmBackward0", "mat1")),
    "tokens": (lambda: nn.Linear(20, 10), (8, 9, 20), Saver("AddmmBackward0", "mat1")),
    "without bias": (lambda: nn.Linear(20, 10, bias=False), (64, 20), Saver("MmBackward0", "self")),
}


def node_of(y: Tensor, name: str) -> object:
    """The nearest ancestor of that name."""
    ahead = [y.grad_fn]
    while ahead:
        node = ahead.pop(0)
        if node is not None and node.name() == name:
            return node
        ahead += [] if node is None else [parent for parent, _ in node.next_functions]
    raise AssertionError(f"no {name}")


@pytest.mark.parametrize("name", LAYERS)
def test_noise_follows_the_law(name: str) -> None:
    torch.manual_seed(7)
    make, size, saver = LAYERS[name]
    layer = make()
    x = torch.randn(size).relu()  # half of it is 0, and stays so
    y = layer(x.clone().requires_grad_())
    product = product_of(node_of(y, saver.node), saver)
    assert product is not None
    assert product.weight is layer.weight
    channel = y.dim() - 1 if saver is not CONVOLUTION else 1
    shape = [1] * y.dim()
    shape[channel] = -1
    gradient = torch.randn(y.shape) * (0.5 + torch.rand(y.size(channel))).view(shape)  # channels differ

    squares = 0.0
    for _ in range(DRAWS):
        error = (2 * torch.rand(size) - 1) * BOUND * (x != 0)
        drawn = []
        for given in (x, x + error):
            layer.zero_grad()
            layer(given).backward(gradient)
            drawn.append(layer.weight.grad.clone())
        squares += float((drawn[1] - drawn[0]).square().mean()) / DRAWS
    nonzeros = float((x != 0).float().mean())
    predicted = BOUND**2 / 3 * nonzeros * product.noise(size, gradient)
    assert (squares / predicted) ** 0.5 == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("name", LAYERS)
def test_weight_gradients_are_those_of_autograd(name: str) -> None:
    torch.manual_seed(3)
    make, size, saver = LAYERS[name]
    layer = make()
    x = torch.randn(size)
    y = layer(x)
    product = product_of(node_of(y, saver.node), saver)
    assert product is not None
    gradient = torch.randn(y.shape)
    y.backward(gradient)
    rows = gradient if saver is CONVOLUTION else gradient.reshape(-1, gradient.size(-1))
    torch.testing.assert_close(product.weight_gradient(rows, x), layer.weight.grad, rtol=1e-4, atol=1e-4)


def test_casts_of_weights_are_seen_through() -> None:
    layer = nn.Linear(8, 4)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(torch.randn(2, 8))
    product = product_of(node_of(y, "AddmmBackward0"), Saver("AddmmBackward0", "mat1"))
    assert product is not None
    assert product.weight is layer.weight


def test_products_of_activations_have_no_weight() -> None:
    x = torch.randn(4, 4, requires_grad=True)
    node = ((x * 2) @ (x * 3)).grad_fn
    assert product_of(node, Saver("MmBackward0", "self")) is None
    assert product_of(node, Saver("ReluBackward0", "result")) is None
