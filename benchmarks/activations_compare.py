"""Every way to hold activations in fewer bytes, on the same networks, data, seeds and augmentations:
accuracy, bytes, peak memory and time.

    python benchmarks/activations_compare.py --photos /path/to/imagefolder --source "what they are"

The photo set is an image folder with train/ and test/ (a folder a class, at any depth below); the other set
is made here: textures that differ by frequency and orientation, under noise that hides them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from activation_nets import Basic, ResNet, ViT
from harness import RESULTS, machine
from process_memory import MIB, elsewhere, resident_bytes, sampled_peak
from small_images import BATCH, MARGIN, SIDE, Task, augmented, load_photos, normalized, textures
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import halfbyte.activations as act

NETS: dict[str, Callable[[int], nn.Module]] = {
    "resnet": lambda classes: ResNet(Basic, (1, 1, 1), 8, classes),
    "vit": lambda classes: ViT(SIDE, 4, 64, 2, classes),
}
EVERY = 50  # steps, from one measurement of COMET and AC-GC to the next: a run has few hundred
POLICIES: dict[str, Callable[[torch.optim.Optimizer], Any]] = {
    "sfpr": lambda _: act.sfpr(),
    "jpeg_act optL5H": lambda _: act.jpeg_act(schedule="optL5H"),
    "jpeg_act optH": lambda _: act.jpeg_act(schedule="optH"),
    "comet 0.01": lambda optimizer: act.comet(optimizer, every=EVERY),
    "comet 0.02": lambda optimizer: act.comet(optimizer, target=0.02, every=EVERY),
    "comet 0.01, jpeg_act": lambda optimizer: act.comet(optimizer, every=EVERY, others=act.jpeg_act()),
    "ac_gc 0.5": lambda optimizer: act.ac_gc(optimizer, every=EVERY),
    "group 4 bits": lambda _: act.group_quantized(bits=4),
    "group 2 bits": lambda _: act.group_quantized(bits=2),
    "group 1 bit": lambda _: act.group_quantized(bits=1),
    "gist": lambda _: act.gist(),
}
EXACT = ("none", "checkpoint")
STEPS_TO_PEAK = 24  # by then policies have settled


class Run:
    """A network in training."""

    def __init__(self, net: str, task: Task, arm: str, *, seed: int, steps: int) -> None:
        torch.manual_seed(seed)
        self.model = NETS[net](task.classes).train()
        if arm == "checkpoint":
            for number, block in enumerate(self.model.blocks):  # type: ignore[arg-type]
                self.model.blocks[number] = Recomputed(block)  # type: ignore[index]
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 3e-3, weight_decay=0.05)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, 3e-3, total_steps=steps)
        policy = None if arm in EXACT else POLICIES[arm](self.optimizer)
        self.compressor = None if policy is None else act.compress(self.model, policy=policy, seed=seed)

    def step(self, images: Tensor, labels: Tensor) -> None:
        self.optimizer.zero_grad()
        with self.compressor or nullcontext():
            F.cross_entropy(self.model(images), labels).backward()
        self.optimizer.step()
        self.schedule.step()


class Recomputed(nn.Module):
    """A block of which nothing but the input is saved."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(self.block, x, use_reentrant=False)  # type: ignore[no-any-return]


def train(net: str, task: Task, arm: str, *, seed: int, epochs: int) -> dict[str, Any]:
    """One run: the accuracy on the test images, the seconds of a step, and the bytes saved for backward."""
    (images, labels), (test_images, test_labels) = task.train, task.test
    run = Run(net, task, arm, seed=seed, steps=epochs * (len(images) // BATCH))
    generator = torch.Generator().manual_seed(1000 + seed)
    seconds = []
    for epoch in range(epochs):
        if run.compressor is not None:
            run.compressor.set_epoch(epoch)
        order = torch.randperm(len(images), generator=generator)
        for rows in order.split(BATCH)[: len(images) // BATCH]:
            batch = augmented(images[rows], generator, mirrored=task.mirrored)
            start = time.perf_counter()
            run.step(batch, labels[rows])
            seconds.append(time.perf_counter() - start)
    model = run.model.eval()
    with torch.inference_mode():
        edge = slice(MARGIN, MARGIN + SIDE)
        scores = torch.cat([model(normalized(part[:, :, edge, edge])) for part in test_images.split(256)])
    right = (scores.argmax(1) == test_labels).double().mean()
    return {
        "accuracy": round(100 * float(right), 2),
        "step_ms": round(1000 * statistics.median(seconds), 1),
        **saved(run.compressor),
    }


def saved(compressor: act.compress | None) -> dict[str, Any]:
    """Bytes for backward over bytes held: of all activations, and of what convolutions read alone."""
    if compressor is None:
        return {}
    rows = compressor.ledger.rows("packed", "exact")
    inputs = [row for row in rows if any(saver.node.startswith("Convolution") for saver in row.savers)]
    return {
        "ratio": round(ratio(rows), 2),
        "ratio_of_convolution_inputs": round(ratio(inputs), 2),
        "held_bytes": sum(row.after for row in rows) // compressor.ledger.steps,
    }


def ratio(rows: list[Any]) -> float:
    return sum(row.before for row in rows) / max(1, sum(row.after for row in rows))


def peak_of(net: str, arm: str) -> dict[str, Any]:
    """In this process: MiB at the peak of a step, beyond what is there between steps."""
    task = textures(BATCH)
    run = Run(net, task, arm, seed=0, steps=STEPS_TO_PEAK + 2)
    batch = augmented(task.train[0], torch.Generator().manual_seed(0), mirrored=False)
    for _ in range(STEPS_TO_PEAK):
        run.step(batch, task.train[1])
    run.optimizer.zero_grad()
    before = resident_bytes()
    peak: dict[str, int] = {}
    with sampled_peak(peak):
        run.step(batch, task.train[1])
    return {"peak_mib": round((peak["peak"] - before) / MIB, 1)}


def summarized(runs: list[dict[str, Any]]) -> dict[str, Any]:
    accuracy = [run["accuracy"] for run in runs]
    mean = {"accuracy": round(statistics.mean(accuracy), 2), "runs": accuracy}
    if len(accuracy) > 1:
        mean["standard_deviation"] = round(statistics.stdev(accuracy), 2)
    for name in ("ratio", "ratio_of_convolution_inputs", "held_bytes", "step_ms"):
        if name in runs[0]:
            mean[name] = round(statistics.mean(run[name] for run in runs), 2)
    if "ratio" in mean:
        mean["ratio_over_bfloat16"] = round(mean["ratio"] / 2, 2)
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--photos", type=Path, help="image folder with train/ and test/")
    parser.add_argument("--source", default="unnamed photographs", help="what they are, for the results file")
    parser.add_argument("--nets", nargs="+", choices=[*NETS], default=[*NETS])
    arms = [*EXACT, *POLICIES]
    parser.add_argument("--arms", nargs="+", choices=arms, default=arms, metavar="ARM")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument(
        "--textures", type=int, default=3072, help="to train on, half as many to test; 0: none"
    )
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--name", default="activations_compare", help="of the results file")
    parser.add_argument("--peak-of", nargs=2, metavar=("NET", "ARM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak_of:
        print(json.dumps(peak_of(*options.peak_of)))
        return
    torch.set_num_threads(options.threads)
    sets = {"textures": textures(options.textures)} if options.textures else {}
    if options.photos is not None:
        sets["photos"] = load_photos(options.photos)
    peaks = {
        net: {arm: elsewhere(__file__, "--peak-of", net, arm)["peak_mib"] for arm in options.arms}
        for net in options.nets
    }
    results: dict[str, dict[str, Any]] = {}
    for seed in range(options.seeds):
        for kind, task in sets.items():
            for net in options.nets:
                for arm in options.arms:
                    run = train(net, task, arm, seed=seed, epochs=options.epochs)
                    print(f"{kind}, {net}, {arm}, seed {seed}: {run}", flush=True)
                    results.setdefault(f"{net} on {kind}", {}).setdefault(arm, []).append(run)
                save(options, results, peaks, seed + 1)


def save(
    options: argparse.Namespace, results: dict[str, dict[str, Any]], peaks: dict[str, Any], seeds: int
) -> None:
    document = {
        "benchmark": "activations_compare",
        "photos": options.source,
        "seeds": seeds,
        "epochs": options.epochs,
        "machine": machine(),
        "peak_mib": peaks,
        "results": {
            task: {arm: summarized(runs) for arm, runs in arms.items()} for task, arms in results.items()
        },
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{options.name}.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
