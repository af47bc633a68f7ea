"""Tensors that lie in memory in unusual ways, or are not ordinary tensors at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from equality import POLICIES, Feigned, assert_same, assert_same_training
from torch import Tensor, nn

from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.cast import Cast
from halfbyte.activations.engine.compress import compress

pytestmark = pytest.mark.filterwarnings("ignore:compression")
policies = pytest.mark.parametrize("policy", POLICIES)
sizes = pytest.mark.parametrize("min_bytes", [0, 1 << 20], ids=["noted", "small"])


def normal(*size: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(size, dtype=dtype, generator=torch.Generator().manual_seed(sum(size)))


@policies
def test_transposed_views_of_a_square_are_told_apart(policy: str) -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 1
        z = y.sin() * y.t().cos() + y.t().sin()
        del y
        return z.tanh()

    assert_same(function, normal(24, 24), policy=policy)


@policies
def test_beginnings_of_one_tensor_are_told_apart(policy: str) -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 1
        z = y[:4].sin().sum(0) * y[:6].sin().sum(0) + y.sin()
        del y
        return z.tanh()

    assert_same(function, normal(8, 8), policy=policy)


@policies
def test_halves_of_one_tensor_are_told_apart(policy: str) -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 1
        first, second = y.split(4)
        z = first.sin() * second.sin()
        del y, first, second
        return z.tanh()

    assert_same(function, normal(8, 8), policy=policy)


@policies
def test_views_of_one_buffer_are_told_apart(policy: str) -> None:
    def function(x: Tensor) -> Tensor:
        q, k, v = (x * 2).view(4, 10, 3, 2, 8).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v).tanh()

    assert_same(function, normal(4, 10, 48), policy=policy)


@policies
def test_views_with_gaps_come_back_right(policy: str) -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 1
        return y[:, ::2].exp() * y[:, 1::2].sin() + y[::2].cos().sum() + y.narrow(1, 3, 4).tanh().sum()

    assert_same(function, normal(8, 16), policy=policy)


@policies
def test_overlapping_windows_come_back_right(policy: str) -> None:
    assert_same(lambda x: (x * 1).unfold(0, 8, 2).exp().sin(), normal(40), policy=policy)


@policies
def test_expanded_operands_come_back_right(policy: str) -> None:
    def function(x: Tensor, bias: Tensor) -> Tensor:
        wide = (bias * 1).expand(16, 8, 12)
        return F.leaky_relu(wide, 0.1) * wide.sin() + x * wide

    assert_same(function, normal(16, 8, 12), normal(8, 1), policy=policy)


@policies
def test_empty_and_scalar_tensors_come_back_right(policy: str) -> None:
    def function(x: Tensor, scalar: Tensor, empty: Tensor) -> Tensor:
        return (x * scalar.exp()).relu().sum() + F.relu(empty * 2).exp().sum() * scalar.sin()

    assert_same(function, normal(6, 6), normal(), normal(0, 5), policy=policy)


@policies
@pytest.mark.parametrize("pool", [F.max_pool2d, F.avg_pool2d])
def test_pool_of_channels_last_adds_up_in_the_same_order(pool: Any, policy: str) -> None:
    norm = nn.BatchNorm2d(4)

    def function(norm: nn.Module, x: Tensor) -> Tensor:
        return pool(norm(x).contiguous(memory_format=torch.channels_last), 3, 1, 1).sin()

    assert_same_training(norm, normal(2, 4, 6, 6), policy=policy, function=function)


def test_layout_of_what_backward_gets_is_what_was_saved() -> None:
    seen: list[tuple[Any, ...]] = []

    class Watch(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *tensors: Tensor) -> Tensor:
            ctx.save_for_backward(*tensors)
            seen.extend((t.size(), t.stride(), t.dtype, t.device) for t in tensors)
            return sum(t.float().sum() for t in tensors)  # type: ignore[return-value]

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> tuple[None, ...]:
            seen.extend((t.size(), t.stride(), t.dtype, t.device) for t in ctx.saved_tensors)
            return (None,) * len(ctx.saved_tensors)

    x = normal(4, 6, 5, 7).requires_grad_()
    with compress(policy=lambda saved: Feigned(), min_bytes=0):
        y = Watch.apply(
            x * 1,
            (x * 1).to(memory_format=torch.channels_last),
            (x * 1).transpose(0, 3),
            (x[:1, :, :, :1] * 1).expand(4, 6, 5, 7),
            (x * 1).half(),
            x > 0,
            x.argsort(-1).transpose(1, 2),
        )
        y = y * 1
    y.backward()
    assert len(seen) == 14
    assert seen[7:] == seen[:7]


@pytest.mark.parametrize("min_bytes", [0, 4096])
def test_small_view_does_not_keep_a_big_storage_alive(min_bytes: int) -> None:
    x = normal(64, 1024).requires_grad_()
    with compress(policy=lambda saved: None, min_bytes=min_bytes):
        y = x * 1
        storage = y.untyped_storage()._weak_ref()
        z = y[:, :8].sin() + y[:, 8:20].sin()[:, :8]
        loss = z.sum()
        del y
        loss = loss * 1
    try:
        assert torch.UntypedStorage._expired(storage)
    finally:
        torch.UntypedStorage._free_weak_ref(storage)
    loss.backward()


@policies
@sizes
def test_views_that_negate_when_read_are_told_apart(policy: str, min_bytes: int) -> None:
    def function(x: Tensor) -> Tensor:
        z = torch.view_as_complex((x * 1).view(32, 8, 2))
        plus, minus = z.imag, z.conj().imag
        del z
        return plus.exp() * minus + minus.sin() * plus

    assert_same(function, normal(32, 16), policy=policy, min_bytes=min_bytes)


@policies
@sizes
def test_complex_tensors_come_back_right(policy: str, min_bytes: int) -> None:
    def function(x: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(x * 1)
        return torch.fft.irfft(spectrum * spectrum.conj().exp() * 0.01).tanh()

    assert_same(function, normal(4, 32), policy=policy, min_bytes=min_bytes)
    assert_same(
        lambda z: (z * z.conj()).sqrt().real,
        normal(8, 8, dtype=torch.complex128),
        policy=policy,
        min_bytes=min_bytes,
    )


@policies
@sizes
def test_sparse_tensors_come_back_right(policy: str, min_bytes: int) -> None:
    def function(x: Tensor, dense: Tensor) -> Tensor:
        sparse = (x * 1).to_sparse()
        return torch.sparse.mm(sparse * 2.0, dense * 1).tanh() + torch.sparse.sum(sparse * sparse)

    assert_same(function, normal(16, 16).relu(), normal(16, 8), policy=policy, min_bytes=min_bytes)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@sizes
def test_nested_tensors_come_back_right(layout: torch.layout, min_bytes: int) -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        nested = torch.nested.as_nested_tensor([x * 1, y * 1], layout=layout)
        return torch.nested.to_padded_tensor(F.relu(nested * 2.0) * nested, 0.0).tanh()

    assert_same(function, normal(3, 8), normal(5, 8), min_bytes=min_bytes)


def test_tensors_on_the_meta_device_pass() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64)).to("meta")
    with compress(model, policy=lambda saved: Cast("bfloat16"), min_bytes=0) as ledger:
        model(torch.randn(64, 64, device="meta")).sum().backward()
    assert ledger.totals("packed").calls == 0


@sizes
def test_zeros_without_memory_pass(min_bytes: int) -> None:
    zeros = torch._efficientzerotensor((64, 64))
    for policy in POLICIES:
        assert_same(
            lambda x: (x * zeros).exp() * (x * zeros) + x.sin(),
            normal(64, 64),
            policy=policy,
            min_bytes=min_bytes,
        )


class Tagged(Tensor):
    """A subclass that does nothing but be one."""


@policies
def test_subclasses_come_back_right(policy: str) -> None:
    def function(x: Tensor) -> Tensor:
        return (x * 1).as_subclass(Tagged).exp().sin().relu().as_subclass(Tensor)

    assert_same(function, normal(32, 32), policy=policy)


@policies
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_types_of_floats_come_back_right(dtype: torch.dtype, policy: str) -> None:
    layer = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.LeakyReLU(0.2), nn.GELU(), nn.Linear(16, 4)).to(
        dtype
    )
    assert_same_training(layer, normal(32, 16, dtype=dtype), policy=policy)


class Wrong(Feigned):
    """Decodes to something else than it was given."""

    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        object.__setattr__(self, "change", change)

    def decode(self, packed: Packed) -> Tensor:
        return self.change(super().decode(packed))  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("measured", [True, False], ids=["first step", "second step"])
@pytest.mark.parametrize(
    ("change", "what"),
    [(lambda x: x.double(), "float64"), (lambda x: x[:, :1], r"\[8, 1\]"), (lambda x: x.to("meta"), "meta")],
)
def test_codec_that_decodes_something_else_is_found_out(
    change: Callable[[Tensor], Tensor], what: str, measured: bool
) -> None:
    compressor = compress(policy=lambda saved: Wrong(change), min_bytes=0)
    compressor.load_state_dict({"step": int(not measured), "epoch": 0, "seed": 0, "policy": {}})

    def train() -> None:
        x = normal(8, 8).requires_grad_()
        with compressor:
            y = x.exp().sin().exp() * 1
        y.sum().backward()

    with pytest.raises(RuntimeError, match=f"decoded .*{what}.*, expected torch.float32 of size"):
        train()
