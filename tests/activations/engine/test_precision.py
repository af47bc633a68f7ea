"""Mixed precision: casts of weights, loss scaling, values that are not finite."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from equality import POLICIES, assert_same, assert_same_training, step
from nets import Encoder, ResNet, UNet, ViT
from torch import Tensor, nn

from halfbyte.activations.codecs.cast import Cast
from halfbyte.activations.engine.compress import compress

pytestmark = pytest.mark.filterwarnings("ignore:compression")
policies = pytest.mark.parametrize("policy", POLICIES)


def pictures() -> Tensor:
    return torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(3))


def under_autocast(model: nn.Module, x: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return model(x).float()  # type: ignore[no-any-return]


@policies
@pytest.mark.parametrize("net", [ResNet, ViT, UNet])
def test_autocast_to_bfloat16_is_the_same(net: Callable[[], nn.Module], policy: str) -> None:
    assert_same_training(net(), pictures(), policy=policy, function=under_autocast)
    assert_same_training(
        net(), pictures(), policy=policy, min_bytes=4096, inside=True, function=under_autocast
    )


def test_casts_of_weights_are_not_packed() -> None:
    model = ResNet(width=32)
    with compress(model, policy=lambda saved: Cast("float16"), min_bytes=0) as ledger:
        under_autocast(model, pictures()).sum().backward()
    weights = [row for row in ledger.rows() for saver in row.savers if saver.field in ("weight", "mat2")]
    assert weights == []
    assert ledger.totals("model").calls >= 8


def test_casts_of_frozen_weights_are_not_packed() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.Flatten(), nn.Linear(9216, 8)
    )
    model.requires_grad_(False)
    x = pictures().requires_grad_()
    with compress(model, policy=lambda saved: Cast("float16"), min_bytes=0) as ledger:
        y = under_autocast(model, x * 1).exp().sin()
    rows = {str(saver): row for row in ledger.rows() for saver in row.savers}
    assert rows["Convolution.weight"].kind == "exact"
    assert rows["Convolution.weight"].why == "weights, statistics and losses"
    assert rows["Addmm.mat2"].kind == "exact"
    y.sum().backward()


@policies
def test_scaled_training_in_half_precision_is_the_same(policy: str) -> None:
    def train(model: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=1)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        scales = []
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.float16):
                loss = model(x).float().square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        return model(x), torch.tensor([loss.detach(), *scales], requires_grad=True) * 1

    assert_same_training(ResNet(), pictures(), policy=policy, inside=True, function=train)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_loss_scaling_still_sees_what_is_not_finite(value: float) -> None:
    model = ResNet()
    x = pictures()
    x[1, 2, 3, 4] = value
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    with compress(model, policy=lambda saved: Cast("bfloat16"), min_bytes=0):
        loss = model(x).sum()
    scaler.scale(loss).backward()
    before = [p.detach().clone() for p in model.parameters()]
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0
    assert all(torch.equal(p, was) for p, was in zip(model.parameters(), before, strict=True))


@policies
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("follows", [False, True], ids=["alone", "before a layer"])
def test_gradients_where_activations_are_nan_are_the_same(
    policy: str, dtype: torch.dtype, *, follows: bool
) -> None:
    x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(2)).to(dtype)
    x[0, 1, 2, 3:6] = torch.nan
    weight = torch.ones(3, 3, 1, 1, dtype=dtype, requires_grad=True)

    def gradients(*, plain: bool) -> Tensor:
        leaf = x.clone().requires_grad_()
        with nullcontext() if plain else compress(nn.Identity(), policy=POLICIES[policy], min_bytes=0):
            y = [F.relu(leaf * 1), F.leaky_relu(leaf * 1, 0.25), F.leaky_relu(F.relu(leaf * 2), 0.5)]
            kept = [F.conv2d(part, weight) for part in y] if follows else y
        torch.autograd.backward(kept, [torch.ones_like(part) for part in kept])
        assert leaf.grad is not None
        return leaf.grad

    expected, got = gradients(plain=True), gradients(plain=False)
    assert expected[0, 1, 2, 3].isfinite()
    assert torch.equal(got.nan_to_num(7), expected.nan_to_num(7))


@policies
def test_infinities_in_noise_and_values_are_the_same(policy: str) -> None:
    def function(x: Tensor) -> Tensor:
        noise = torch.where(x > 0, torch.tensor(float("inf")), torch.tensor(0.0))
        far = torch.where(x > 1, torch.tensor(float("-inf")), x)
        return F.relu(x * noise).clamp(max=9) + far.exp() + F.leaky_relu(far * 1, 0.1).clamp(min=-9) + (x * 3)

    x = torch.randn(16, 16, generator=torch.Generator().manual_seed(3))
    assert_same(function, x, policy=policy)


@policies
def test_double_precision_is_the_same(policy: str) -> None:
    x = torch.randn(4, 9, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    assert_same_training(Encoder().double(), x, policy=policy)
    assert_same_training(ResNet().double(), pictures().double(), policy=policy)


def test_gradients_are_right_to_the_last_digit_in_double_precision() -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(1, 2, 5, 5, dtype=torch.float64, generator=generator).requires_grad_()
    weight = torch.randn(2, 2, 2, 2, dtype=torch.float64, generator=generator).requires_grad_()

    def function(x: Tensor, weight: Tensor) -> Tensor:
        with compress(policy=POLICIES["feigned"], min_bytes=0):
            return F.avg_pool2d(F.gelu(F.conv2d(F.leaky_relu(x * 1, 0.3), weight)), 2).sin()

    assert torch.autograd.gradcheck(function, (x, weight), fast_mode=True)
    assert torch.autograd.gradgradcheck(function, (x, weight), fast_mode=True)


def test_backward_under_autocast_decodes_the_same() -> None:
    runs = []
    for compressed in (False, True):
        torch.manual_seed(1)
        model = ResNet()
        compressor = compress(model, policy=POLICIES["feigned"], min_bytes=0) if compressed else None
        with torch.autocast("cpu", torch.bfloat16):
            runs.append(step(lambda x: model(x).float(), (pictures(),), compressor=compressor, model=model))  # noqa: B023
    assert [n for n, t in runs[0].tensors.items() if not torch.equal(t, runs[1].tensors[n])] == []
