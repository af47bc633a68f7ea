"""What two processes compute together, with and without compression; run by `test_distributed`."""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import torch
import torch.distributed as dist
from equality import POLICIES, Feigned
from nets import ResNet, ViT
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from halfbyte.activations import comet, lossless
from halfbyte.activations.codecs.base import Packed
from halfbyte.activations.codecs.near_zero import NearZero
from halfbyte.activations.codecs.sfpr import Sfpr
from halfbyte.activations.engine.compress import compress
from halfbyte.activations.engine.session import Session
from halfbyte.activations.policy.saved_tensor import PolicyFunction

WORLD = 2
STEPS = 3

Wrap = Callable[[nn.Module], nn.Module]


def pictures() -> Tensor:
    return torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(dist.get_rank()))


def resnet() -> nn.Module:
    torch.manual_seed(1)
    return ResNet()


def vit() -> nn.Module:
    torch.manual_seed(1)
    return ViT(dropout=0.0)


def train(model: nn.Module, policy: PolicyFunction | None) -> dict[str, Tensor]:
    """Losses, and parameters and buffers at the end."""
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    compressor = None if policy is None else compress(model, policy=policy, min_bytes=0)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        if compressor is None:
            loss = model(pictures()).square().mean()
        else:
            with compressor:
                loss = model(pictures()).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    tensors = {name: full(t.detach()) for name, t in [*model.named_parameters(), *model.named_buffers()]}
    return tensors | {"losses": torch.stack(losses)}


def full(t: Tensor) -> Tensor:
    return t.full_tensor() if isinstance(t, DTensor) else t.clone()


def compare(build: Callable[[], nn.Module], wrap: Wrap) -> None:
    """Lossless training is the same bit for bit; lossy training comes near it, and ranks agree."""
    stock = train(wrap(build()), None)
    for name, policy in POLICIES.items():
        ours = train(wrap(build()), policy)
        found = [key for key, t in stock.items() if not torch.equal(t, ours[key])]
        assert found == [], f"{name}: {found}"
    lossy = train(wrap(build()), lambda saved: Sfpr())
    for key, t in stock.items():
        error, size = float((lossy[key] - t).double().norm()), float(t.double().norm())
        assert error <= 0.1 * size + 3e-3, f"{key}: {error} of {size}"
    assert not all(torch.equal(lossy[key], t) for key, t in stock.items()), "nothing was lossy"
    assert float(lossy["losses"][-1]) < float(lossy["losses"][0])
    for key, t in lossy.items():
        if key != "losses" and "running" not in key:
            others = [torch.empty_like(t) for _ in range(WORLD)]
            dist.all_gather(others, t)
            assert torch.equal(others[0], others[1]), key


def ddp() -> None:
    compare(resnet, DistributedDataParallel)


def ddp_bucket_views() -> None:
    compare(resnet, lambda m: DistributedDataParallel(m, gradient_as_bucket_view=True, bucket_cap_mb=0.01))


def ddp_static_graph() -> None:
    class Recomputed(nn.Module):
        def __init__(self, model: nn.Module) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Tensor) -> Tensor:
            x = checkpoint(self.model.blocks, self.model.stem(x), use_reentrant=False)
            return self.model.head(x.mean((2, 3)))  # type: ignore[no-any-return, operator]

    compare(resnet, lambda m: DistributedDataParallel(Recomputed(m), static_graph=True))


def shard(model: nn.Module, *, reshard: bool, half: bool = False) -> nn.Module:
    mesh = init_device_mesh("cpu", (WORLD,))
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16) if half else MixedPrecisionPolicy()
    for block in model.blocks:  # type: ignore[union-attr]
        fully_shard(block, mesh=mesh, reshard_after_forward=reshard, mp_policy=precision)
    return fully_shard(model, mesh=mesh, reshard_after_forward=reshard, mp_policy=precision)


def fsdp_reshard() -> None:
    compare(vit, lambda m: shard(m, reshard=True))


def fsdp_keep() -> None:
    compare(vit, lambda m: shard(m, reshard=False))


def fsdp_bfloat16() -> None:
    compare(vit, lambda m: shard(m, reshard=True, half=True))


@contextmanager
def kept() -> Iterator[list[Tensor]]:
    """Every tensor that passes as it is."""
    tensors: list[Tensor] = []
    pack = Session.pack

    def spy(session: Session, t: Tensor) -> object:
        packed = pack(session, t)
        if type(packed) is tuple:
            tensors.append(packed[0])
        return packed

    with patch.object(Session, "pack", spy):
        yield tensors


def fsdp_weights_are_freed() -> None:
    """Between forward and backward the gathered weights are gone: nobody has made a copy of them."""
    model = shard(vit(), reshard=True)
    assert isinstance(model, FSDPModule)
    model.set_reshard_after_forward(True)
    weights = {p.numel() for name, p in model.named_parameters() if p.dim() > 1 and "blocks" in name}
    with kept() as tensors, compress(model, policy=lambda saved: Feigned(), min_bytes=0):
        loss = model(pictures()).square().mean()
    matrices = [t for t in tensors if t.dim() == 2 and t.numel() in weights]
    assert len(matrices) >= 8
    assert {t.untyped_storage().nbytes() for t in matrices} == {0}
    loss.backward()


def tensor_parallel() -> None:
    class Perceptron(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Linear(48, 64), nn.Linear(64, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.down(torch.relu(self.up(x.flatten(1)[:, :48])))  # type: ignore[no-any-return]

    def build() -> nn.Module:
        torch.manual_seed(1)
        return Perceptron()

    def split(model: nn.Module) -> nn.Module:
        mesh = init_device_mesh("cpu", (WORLD,))
        return parallelize_module(model, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})

    stock = train(split(build()), None)
    for name, policy in POLICIES.items():
        ours = train(split(build()), policy)
        assert [key for key, t in stock.items() if not torch.equal(t, ours[key])] == [], name


def comet_bounds() -> None:
    """Ranks see other pictures, and agree on every bound; gradients are averaged, and so is their noise."""
    model = DistributedDataParallel(resnet())
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    policy = comet(optimizer, warmup=2, every=8, others=lossless())
    compressor = compress(model, policy=policy, min_bytes=0)
    for step in range(16):
        generator = torch.Generator().manual_seed(2 * step + dist.get_rank())
        optimizer.zero_grad()
        with compressor:
            model(torch.randn(4, 3, 16, 16, generator=generator)).square().mean().backward()
        optimizer.step()
    everyone: list[object] = [None] * WORLD
    dist.all_gather_object(everyone, [(b.key, b.value, b.weight, b.predicted) for b in policy.bounds])
    assert len(policy.bounds) > 3
    assert everyone[0] == everyone[1]
    verified = [bound.measured / bound.predicted for bound in policy.bounds if bound.measured is not None]
    assert len(verified) > 3
    assert all(0.4 < ratio < 2.5 for ratio in verified), verified


def halves_across_a_border() -> None:
    """Rank 0 has the first half of a model, rank 1 the second: what is packed goes over, and the gradient
    comes back.
    """
    torch.manual_seed(3)
    first, second = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()), nn.Conv2d(8, 4, 3)
    y = first(torch.randn(2, 3, 9, 9))
    alone = NearZero().encode(y.detach()).decode().requires_grad_()
    second(alone).square().sum().backward()
    assert alone.grad is not None
    if dist.get_rank() == 0:
        dist.send_object_list([NearZero().encode(y.detach())], dst=1)
        gradient = torch.empty_like(alone.grad)
        dist.recv(gradient, src=1)
        assert torch.equal(gradient, alone.grad)
    else:
        received: list[Packed | None] = [None]
        dist.recv_object_list(received, src=0)
        assert received[0] is not None
        middle = received[0].decode().requires_grad_()
        assert torch.equal(middle, alone)
        second(middle).square().sum().backward()
        assert middle.grad is not None
        dist.send(middle.grad, dst=0)


CASES = {
    case.__name__: case
    for case in (
        comet_bounds,
        ddp,
        ddp_bucket_views,
        ddp_static_graph,
        fsdp_reshard,
        fsdp_keep,
        fsdp_bfloat16,
        fsdp_weights_are_freed,
        tensor_parallel,
        halves_across_a_border,
    )
}


def work(rank: int, folder: str) -> None:
    """Run every case as this rank, and write what went wrong."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    store = dist.FileStore(f"{folder}/store", WORLD)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=timedelta(seconds=60))
    errors: dict[str, str] = {}
    for name, case in CASES.items():
        try:
            case()
            errors[name] = ""
        except Exception:
            errors[name] = traceback.format_exc()
        Path(folder, f"rank{rank}.json").write_text(json.dumps(errors))
    dist.destroy_process_group()
