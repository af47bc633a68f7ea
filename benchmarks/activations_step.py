"""What does it cost to hold fewer bytes? Step time, bytes saved for backward and the peak of the process, for
training steps of a ResNet-18, a ResNet-50, a ViT and a U-Net: plainly, in bfloat16, with checkpoints, and
with compressed activations alone and beside checkpoints.

Memory is what the process holds more than before the step, sampled while it runs, with an allocator that
gives freed memory back at once; every arm runs in a process of its own. Times are of another process, in
turn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from activation_nets import Basic, Bottleneck, ResNet, UNet, ViT
from harness import RESULTS, machine
from process_memory import MIB, elsewhere, resident_bytes, sampled_peak
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import halfbyte.activations as act

# Network, and batch, channels, height and width of its input.
NETS: dict[str, tuple[Callable[[], nn.Module], tuple[int, int, int, int]]] = {
    "resnet18": (lambda: ResNet(Basic, (2, 2, 2, 2), 64, 10, pool=True), (64, 3, 64, 64)),
    "resnet50": (lambda: ResNet(Bottleneck, (3, 4, 6, 3), 32, 10, pool=True), (64, 3, 64, 64)),
    "vit": (lambda: ViT(64, 8, 192, 6, 10), (64, 3, 64, 64)),
    "unet": (lambda: UNet(32, 10), (16, 3, 64, 64)),
}
POLICIES: dict[str, Callable[[], Any]] = {
    "lossless": act.lossless,
    "sfpr": act.sfpr,
    "jpeg_act optL": lambda: act.jpeg_act(schedule="optL"),
    "jpeg_act optH": lambda: act.jpeg_act(schedule="optH"),
    "group 4 bits": lambda: act.group_quantized(bits=4),
    "group 2 bits": lambda: act.group_quantized(bits=2),
    "gist": act.gist,
}
ARMS = ["none", "nothing held", "bfloat16", "checkpoint", *POLICIES, "checkpoint + jpeg_act optH"]


class Step:
    """One arm: a network and what its training step is wrapped in."""

    def __init__(self, net: str, arm: str) -> None:
        torch.manual_seed(0)
        make, shape = NETS[net]
        self.model = make().train()
        self.images = smooth_images(shape)
        self.labels = torch.arange(shape[0]) % 10
        self.checkpoints = arm.startswith("checkpoint")
        self.autocast = arm == "bfloat16"
        name = arm.removeprefix("checkpoint + ")
        self.compressor = act.compress(self.model, policy=POLICIES[name]()) if name in POLICIES else None
        self.drop = arm == "nothing held"
        if self.checkpoints:
            for parent in self.model.modules():
                for block in parent.children() if isinstance(parent, (nn.Sequential, nn.ModuleList)) else ():
                    if len(list(block.children())) > 1:
                        recompute(block)

    def context(self) -> AbstractContextManager[Any]:
        if self.drop:  # the least that any way of holding could reach; its gradients are of no use
            return torch.autograd.graph.saved_tensors_hooks(forget, remember)
        return self.compressor or nullcontext()

    def forward(self) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            return F.cross_entropy(self.model(self.images).float(), self.labels)

    def __call__(self) -> None:
        self.model.zero_grad(set_to_none=True)
        with self.context():
            self.forward().backward()


def smooth_images(shape: tuple[int, int, int, int]) -> Tensor:
    """Noise with the spectrum of photographs, about standard normal."""
    height, width = shape[2:]
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    fy, fx = torch.fft.fftfreq(height).view(-1, 1), torch.fft.rfftfreq(width).view(1, -1)
    falling = 1 / (fy**2 + fx**2).sqrt().clamp_min(1 / max(height, width))
    images = torch.fft.irfft2(torch.fft.rfft2(noise) * falling, s=(height, width))
    return images / images.std()


def recompute(block: nn.Module) -> None:
    forward = block.forward
    block.forward = lambda x: checkpoint(forward, x, use_reentrant=False)  # type: ignore[method-assign]


def forget(t: Tensor) -> Any:
    small = t.numel() < 65536 or isinstance(t, nn.Parameter)
    return t.detach() if small else (t.size(), t.dtype)


def remember(packed: Any) -> Tensor:
    return packed if isinstance(packed, Tensor) else torch.zeros(packed[0], dtype=packed[1])


def memory_of(net: str, arm: str) -> dict[str, Any]:
    """In this process: MiB held after the forward pass and at the peak of a step, beyond what was there
    before.
    """
    step = Step(net, arm)
    step()
    step.model.zero_grad(set_to_none=True)
    before = resident_bytes()
    with step.context():
        loss = step.forward()
        after_forward = resident_bytes()
    del loss
    peak: dict[str, int] = {}
    with sampled_peak(peak):
        step()
    result: dict[str, Any] = {
        "after_forward_mib": round((after_forward - before) / MIB, 1),
        "peak_mib": round((peak["peak"] - before) / MIB, 1),
    }
    if step.compressor is not None:
        total = step.compressor.ledger.totals("packed", "exact")
        result["saved_mib"] = round(total.before / step.compressor.ledger.steps / MIB, 1)
        result["held_mib"] = round(total.after / step.compressor.ledger.steps / MIB, 1)
        result["ratio"] = round(total.ratio, 2)
    return result


def times_of(net: str, arms: list[str], repeats: int) -> dict[str, dict[str, Any]]:
    """Milliseconds a step, all arms in turn; the ratio is the median of those within a round, since machines
    drift from round to round. What of it packing and unpacking take is the compressor's own count.
    """
    steps = {arm: Step(net, arm) for arm in arms}
    seconds: dict[str, list[float]] = {arm: [] for arm in arms}
    for repeat in range(repeats + 1):
        for arm, step in steps.items():
            start = time.perf_counter()
            step()
            if repeat:
                seconds[arm].append(time.perf_counter() - start)
    return {arm: times(own, seconds["none"], steps[arm].compressor) for arm, own in seconds.items()}


def times(own: list[float], plain: list[float], compressor: act.compress | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "step_ms": round(1000 * statistics.median(own), 1),
        "step_ms_range": [round(1000 * min(own), 1), round(1000 * max(own), 1)],
        "against_none": round(statistics.median(a / b for a, b in zip(own, plain, strict=True)), 3),
    }
    if compressor is not None:
        rows, steps = compressor.ledger.rows(), compressor.ledger.steps
        result["pack_ms"] = round(1000 * sum(row.pack_seconds for row in rows) / steps, 1)
        result["unpack_ms"] = round(1000 * sum(row.unpack_seconds for row in rows) / steps, 1)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--nets", nargs="+", choices=[*NETS], default=[*NETS])
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=ARMS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=["memory", "times"], help="memory needs no quiet machine; times do")
    parser.add_argument("--memory-of", nargs=2, metavar=("NET", "ARM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        print(json.dumps(memory_of(*options.memory_of)))
        return
    arms = list(dict.fromkeys(["none", *options.arms]))
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for net in options.nets:
        results[net] = {arm: {} for arm in arms}
        if options.only != "memory":
            for arm, times in times_of(
                net, [a for a in arms if a != "nothing held"], options.repeats
            ).items():
                results[net][arm] |= times
        if options.only != "times":
            for arm in arms:
                results[net][arm] |= elsewhere(__file__, "--memory-of", net, arm)
        for arm, measured in results[net].items():
            print(f"{net}, {arm}: {measured}", flush=True)
    document = {
        "benchmark": "activations_step",
        "measured": options.only or "memory and times",
        "repeats": options.repeats,
        "threads": torch.get_num_threads(),
        "inputs": {net: shape for net, (_, shape) in NETS.items()},
        "machine": machine(),
        "results": results,
    }
    RESULTS.mkdir(exist_ok=True)
    name = f"activations_{options.only or 'step'}.json"
    (RESULTS / name).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
