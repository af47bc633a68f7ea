"""Computations on a few registers, all of one shape: what a model may do to its tensors, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

SHAPE = (2, 4, 6, 6)
REGISTERS = 4


class Instruction(NamedTuple):
    """`registers[to] = OPERATIONS[name](registers[a], registers[b])`; what was in `to` is dropped."""

    name: str
    a: int
    b: int
    to: int


class Weights(nn.Module):
    """All parameters that operations may use."""

    def __init__(self) -> None:
        super().__init__()
        self.conv3, self.conv1 = nn.Conv2d(4, 4, 3, 1, 1), nn.Conv2d(4, 4, 1, bias=False)
        self.depthwise, self.up = nn.Conv2d(4, 4, 3, 1, 1, groups=4), nn.ConvTranspose2d(4, 4, 2, 2)
        self.batch, self.group, self.layer = nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.LayerNorm(6)
        self.linear, self.qkv, self.prelu = nn.Linear(6, 6), nn.Linear(6, 18, bias=False), nn.PReLU(4)


class Squares(torch.autograd.Function):
    """Saves both inputs and an output of its own making."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, scale: float, nothing: None) -> Tensor:
        product = a * b
        ctx.save_for_backward(a, None, b, product)
        ctx.scale = scale
        return product * product * scale

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        a, _, b, product = ctx.saved_tensors
        common = 2 * ctx.scale * product * gradient
        return common * b, common * a, None, None


class Halve(torch.autograd.Function):
    """In place, and saves its own result."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        a.mul_(0.5)
        ctx.mark_dirty(a)
        ctx.save_for_backward(a)
        return a

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (a,) = ctx.saved_tensors
        return 0.5 * gradient * (1 + 0 * a)


def _island(a: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.relu(a).mul_(2)


def _attention(a: Tensor, w: Weights) -> Tensor:
    q, k, v = w.qkv(a).chunk(3, -1)
    return F.scaled_dot_product_attention(q, k, v)


def _block(a: Tensor, b: Tensor, w: Weights) -> Tensor:
    y = F.relu(w.conv3(a), inplace=True)
    return F.dropout(F.leaky_relu(w.batch(y) + b, 0.2, inplace=True), 0.3)


def _part_in_place(a: Tensor) -> Tensor:
    a = a * 1.5
    a[:, :2].relu_()
    return a


def _sorted(a: Tensor) -> Tensor:
    values, order = a.sort(-1)
    return values + a.gather(-1, order.flip(-1))


def _windows(a: Tensor) -> Tensor:
    return F.pad(a, (1, 1)).unfold(3, 3, 1).sin().mean(-1)


def _two_shapes(a: Tensor) -> Tensor:
    y = F.relu(a.contiguous() - 0.1)
    pooled = F.max_pool2d(y.view(1, 8, 6, 6), 3, 1, 1).view(SHAPE)
    return pooled + y.flatten(1).cos().view(SHAPE) * F.leaky_relu(y.view(-1, 6), 0.1).view(SHAPE)


def _excite(a: Tensor, w: Weights) -> Tensor:
    return a * w.conv1(F.relu(F.adaptive_avg_pool2d(a, 1))).sigmoid()


def _gray(a: Tensor) -> Tensor:
    y = F.relu(a.mean(1, keepdim=True))
    return F.conv2d(F.max_pool2d(y, 3, 1, 1), y[:1].expand(4, 1, 6, 6)[:, :, 1:4, 1:4], padding=1).tanh()


def _half(a: Tensor, w: Weights) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return F.relu(w.conv1(a)).mul(w.linear(a)).float()


Operation = Callable[[Tensor, Tensor, Weights], Tensor]

OPERATIONS: dict[str, Operation] = {
    # element by element
    "relu": lambda a, b, w: torch.relu(a),
    "relu in place": lambda a, b, w: torch.relu_(a),
    "leaky": lambda a, b, w: F.leaky_relu(a, 0.1),
    "leaky in place": lambda a, b, w: F.leaky_relu_(a, 0.1),
    "elu in place": lambda a, b, w: F.elu_(a),
    "prelu": lambda a, b, w: w.prelu(a),
    "tanh": lambda a, b, w: a.tanh(),
    "sigmoid in place": lambda a, b, w: a.sigmoid_(),
    "exp": lambda a, b, w: a.sin().exp(),
    "gelu": lambda a, b, w: F.gelu(a),
    "silu in place": lambda a, b, w: F.silu(a, inplace=True),
    "hardtanh": lambda a, b, w: F.hardtanh(a),
    "abs": lambda a, b, w: a.abs(),
    "root": lambda a, b, w: (a.abs() + 1).sqrt(),
    "dropout": lambda a, b, w: F.dropout(a, 0.3),
    "dropout in place": lambda a, b, w: F.dropout(a, 0.3, inplace=True),
    "feature dropout": lambda a, b, w: F.dropout2d(a, 0.3),
    "clamp": lambda a, b, w: a.clamp(-0.5, 0.5),
    "relu6 in place": lambda a, b, w: F.relu6(a, inplace=True),
    "random leaky": lambda a, b, w: F.rrelu(a, training=True),
    "softplus": lambda a, b, w: F.softplus(a),
    "hardswish": lambda a, b, w: F.hardswish(a),
    "selu in place": lambda a, b, w: F.selu(a, inplace=True),
    "threshold": lambda a, b, w: F.threshold(a, 0.1, 0.2),
    "cube": lambda a, b, w: a.clamp(-1, 1) ** 3,
    "alpha dropout": lambda a, b, w: F.alpha_dropout(a, 0.3, training=True),
    # of two
    "add": lambda a, b, w: a + b,
    "add in place": lambda a, b, w: a.add_(b),
    "scale in place": lambda a, b, w: a.mul_(0.5),
    "multiply": lambda a, b, w: a * b,
    "multiply in place": lambda a, b, w: a.mul_(b.tanh()),
    "square": lambda a, b, w: a * a,
    "divide": lambda a, b, w: a / (b.abs() + 1),
    "greater": lambda a, b, w: torch.maximum(a, b),
    "where": lambda a, b, w: torch.where(a > b, a, b * 0.5),
    "masked": lambda a, b, w: a.masked_fill(b > 0, 0.25),
    "noise": lambda a, b, w: a * (b > 0).float().mul_(3),
    "matmul": lambda a, b, w: (a @ b.transpose(2, 3)).tanh(),
    "cat": lambda a, b, w: torch.cat([a[:, :2], b[:, 2:]], 1),
    "multiply, add in place": lambda a, b, w: a.addcmul_(b.tanh(), b.cos(), value=0.5),
    "set": lambda a, b, w: a.index_put_((torch.tensor([1]), torch.tensor([0, 2])), b[0, :2] * 2),
    "copy in place": lambda a, b, w: a.copy_(b),
    "masked in place": lambda a, b, w: a.masked_fill_(b > 0.5, 0.0),
    "scatter": lambda a, b, w: a.scatter_add(1, b.argsort(1), b.relu()),
    "distance": lambda a, b, w: torch.cdist(a, b).tanh(),
    "huber": lambda a, b, w: a * F.smooth_l1_loss(a, b) + F.l1_loss(a, b),
    "cross entropy": lambda a, b, w: a + F.binary_cross_entropy_with_logits(a, b.sigmoid()),
    "lerp": lambda a, b, w: torch.lerp(a, b, b.sigmoid()),
    # layers
    "conv3": lambda a, b, w: w.conv3(a),
    "conv1": lambda a, b, w: w.conv1(a),
    "depthwise": lambda a, b, w: w.depthwise(a),
    "down and up": lambda a, b, w: w.up(F.max_pool2d(a, 2)),
    "batch norm": lambda a, b, w: w.batch(a),
    "group norm": lambda a, b, w: w.group(a),
    "layer norm": lambda a, b, w: w.layer(a),
    "linear": lambda a, b, w: w.linear(a),
    "attention": lambda a, b, w: _attention(a, w),
    "bfloat16": lambda a, b, w: _half(a, w),
    "instance norm": lambda a, b, w: F.instance_norm(a, running_mean=None, running_var=None),
    "rms norm": lambda a, b, w: F.rms_norm(a, (6,)),
    "gated": lambda a, b, w: F.glu(torch.cat([a, b], 1), 1),
    "normalize": lambda a, b, w: F.normalize(a, dim=1),
    "standard deviation": lambda a, b, w: a / (a.std((2, 3), keepdim=True) + 1),
    "softmax": lambda a, b, w: a.softmax(1),
    "log softmax": lambda a, b, w: a.log_softmax(-1),
    "loss": lambda a, b, w: a * F.mse_loss(a, b) + F.nll_loss(b.log_softmax(1), a.argmax(1)),
    # pools and borders
    "max pool": lambda a, b, w: F.max_pool2d(a, 3, 1, 1),
    "average pool": lambda a, b, w: F.avg_pool2d(a, 3, 1, 1),
    "adaptive pool": lambda a, b, w: F.interpolate(F.adaptive_avg_pool2d(a, 3), scale_factor=2),
    "adaptive max pool": lambda a, b, w: F.interpolate(
        F.adaptive_max_pool2d(a, 3), size=(6, 6), mode="bilinear"
    ),
    "unpool": lambda a, b, w: F.max_unpool2d(*F.max_pool2d(a, 2, return_indices=True), 2),
    "fractional pool": lambda a, b, w: F.interpolate(F.fractional_max_pool2d(a, 2, output_size=3), size=6),
    "lp pool": lambda a, b, w: F.interpolate(F.lp_pool2d(a.abs() + 1, 2, 2), scale_factor=2),
    "deep pool": lambda a, b, w: F.max_pool3d(a, 3, 1, 1) + F.avg_pool3d(b, 3, 1, 1),
    "shuffle": lambda a, b, w: F.pixel_unshuffle(F.pixel_shuffle(a.relu(), 2), 2),
    "resample": lambda a, b, w: F.grid_sample(
        a, b[:, :2].permute(0, 2, 3, 1).contiguous(), align_corners=False
    ),
    "circular": lambda a, b, w: F.conv2d(F.pad(a, (1, 1, 1, 1), "circular"), w.conv3.weight),
    "reflect": lambda a, b, w: F.max_pool2d(F.pad(a, (1, 1, 1, 1), "reflect"), 3, 1),
    "replicate": lambda a, b, w: F.avg_pool2d(F.pad(a, (1, 1, 1, 1), "replicate"), 3, 1),
    # views and orders in memory
    "transpose": lambda a, b, w: a.transpose(2, 3),
    "channels last": lambda a, b, w: a.contiguous(memory_format=torch.channels_last),
    "contiguous": lambda a, b, w: a.contiguous(),
    "flip": lambda a, b, w: a.flip(2),
    "every other": lambda a, b, w: a[:, :, ::2].exp().sin().repeat_interleave(2, 2),
    "one channel": lambda a, b, w: a[:, 1:2].tanh().expand_as(a).sin(),
    "expanded": lambda a, b, w: a * b.mean((0, 2), keepdim=True).expand_as(a).cos(),
    "two shapes": lambda a, b, w: _two_shapes(a),
    "excite": lambda a, b, w: _excite(a, w),
    "gray": lambda a, b, w: _gray(a),
    "windows": lambda a, b, w: _windows(a),
    "part in place": lambda a, b, w: _part_in_place(a),
    "transposed in place": lambda a, b, w: a.transpose(2, 3).relu_(),
    "rows": lambda a, b, w: a.index_select(2, b[0, 0, 0].argsort()).sin(),
    "lower": lambda a, b, w: a.tril() * b.triu(),
    "cumulative": lambda a, b, w: a.cumsum(2) * a.tanh().cumprod(3),
    "fold": lambda a, b, w: F.fold(F.unfold(a, 3, padding=1).sin(), (6, 6), 3, padding=1),
    "spectrum": lambda a, b, w: torch.fft.irfft(torch.fft.rfft(a) * 0.5, 6),
    "top": lambda a, b, w: a + a.topk(2, 1).values.sum(1, keepdim=True) * a.amax(1, keepdim=True),
    "strided": lambda a, b, w: (a * 1).as_strided(SHAPE, (144, 36, 1, 6)).cos(),
    "sort": lambda a, b, w: _sorted(a),
    "greatest": lambda a, b, w: a * a.max(1, keepdim=True).values,
    # graphs
    "copy": lambda a, b, w: a.clone(),
    "detach": lambda a, b, w: a.detach(),
    "island": lambda a, b, w: a * _island(b),
    "function": lambda a, b, w: Squares.apply(a.tanh(), b.tanh(), 0.5, None),
    "function in place": lambda a, b, w: Halve.apply(a),
    "checkpoint": lambda a, b, w: checkpoint(_block, a, b, w, use_reentrant=False),
    "old checkpoint": lambda a, b, w: checkpoint(_block, a, b, w, use_reentrant=True),
    "block": _block,
}


def run(program: list[Instruction], w: Weights, *leaves: Tensor) -> tuple[Tensor, ...]:
    """What is in the registers at the end.

    They begin with what the leaves hold, times 1 so that operations in place may change it.
    """
    registers = [leaf * 1.0 for leaf in leaves]
    for name, a, b, to in program:
        registers[to] = OPERATIONS[name](registers[a], registers[b], w)
    return tuple(r if r.requires_grad else r + 0 * leaf for r, leaf in zip(registers, leaves, strict=True))


def run_twice(program: list[Instruction], w: Weights, *leaves: Tensor) -> tuple[Tensor, ...]:
    """The gradients of `run`, which can be differentiated again."""
    total = torch.stack([r.sin().sum() for r in run(program, w, *leaves)]).sum()
    gradients = torch.autograd.grad(total, leaves, create_graph=True, materialize_grads=True)
    return tuple(g + 0 * leaf for g, leaf in zip(gradients, leaves, strict=True))
