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
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from activation_nets import Basic, ResNet, ViT
from harness import RESULTS, machine
from process_memory import MIB, elsewhere, resident_bytes, sampled_peak
from small_images import BATCH, SIDE, Task, augmented, centred, load_photos, textures
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
SETTLED = 24  # steps; by then policies have settled
ROUNDS, STEPS_A_ROUND = 7, 8
PARTS = ("peak", "steps", "accuracy")


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
    """One run: the accuracy on the test images, and the bytes saved for backward."""
    (images, labels), (test_images, test_labels) = task.train, task.test
    run = Run(net, task, arm, seed=seed, steps=epochs * (len(images) // BATCH))
    generator = torch.Generator().manual_seed(1000 + seed)
    for epoch in range(epochs):
        if run.compressor is not None:
            run.compressor.set_epoch(epoch)
        order = torch.randperm(len(images), generator=generator)
        for rows in order.split(BATCH)[: len(images) // BATCH]:
            batch = augmented(images[rows], generator, mirrored=task.mirrored)
            run.step(batch, labels[rows])
    model = run.model.eval()
    with torch.inference_mode():
        scores = torch.cat([model(centred(part)) for part in test_images.split(256)])
    right = (scores.argmax(1) == test_labels).double().mean()
    return {"accuracy": round(100 * float(right), 2), **saved(run.compressor)}


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


def settled(net: str, arm: str) -> Callable[[], None]:
    """A step on a batch that stays the same, when some have been made."""
    task = textures(BATCH)
    run = Run(net, task, arm, seed=0, steps=SETTLED + (ROUNDS + 1) * STEPS_A_ROUND)
    batch = augmented(task.train[0], torch.Generator().manual_seed(0), mirrored=False)

    def step() -> None:
        run.step(batch, task.train[1])
        run.optimizer.zero_grad()

    for _ in range(SETTLED):
        step()
    return step


def steps_of(net: str, arms: list[str]) -> dict[str, dict[str, float]]:
    """Milliseconds a step, all arms in turn, the plain one among them; the ratio is the median of those
    within a round, since machines drift from round to round."""
    steps = {arm: settled(net, arm) for arm in dict.fromkeys(["none", *arms])}
    seconds: dict[str, list[float]] = {arm: [] for arm in steps}
    for _ in range(ROUNDS):
        for arm, step in steps.items():
            start = time.perf_counter()
            for _ in range(STEPS_A_ROUND):
                step()
            seconds[arm].append((time.perf_counter() - start) / STEPS_A_ROUND)
    return {
        arm: {
            "step_ms": round(1000 * statistics.median(own), 1),
            "against_none": round(
                statistics.median(a / b for a, b in zip(own, seconds["none"], strict=True)), 3
            ),
        }
        for arm, own in seconds.items()
    }


def peak_of(net: str, arm: str) -> dict[str, Any]:
    """In this process: MiB at the peak of a step, beyond what is there between steps."""
    step = settled(net, arm)
    before = resident_bytes()
    peak: dict[str, int] = {}
    with sampled_peak(peak):
        step()
    return {"peak_mib": round((peak["peak"] - before) / MIB, 1)}


def summarized(runs: list[dict[str, Any]]) -> dict[str, Any]:
    accuracy = [run["accuracy"] for run in runs]
    mean = {"accuracy": round(statistics.mean(accuracy), 2), "runs": accuracy}
    if len(accuracy) > 1:
        mean["standard_deviation"] = round(statistics.stdev(accuracy), 2)
    for name in ("ratio", "ratio_of_convolution_inputs", "held_bytes"):
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
    parser.add_argument(
        "--only",
        choices=PARTS,
        help="measure this alone, and keep the rest of the results file; steps need a quiet machine",
    )
    parser.add_argument("--peak-of", nargs=2, metavar=("NET", "ARM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak_of:
        print(json.dumps(peak_of(*options.peak_of)))
        return
    torch.set_num_threads(options.threads)
    path = RESULTS / f"{options.name}.json"
    document = json.loads(path.read_text()) if options.only else {"benchmark": "activations_compare"}
    for part in PARTS if options.only is None else [options.only]:
        for found in MEASURE[part](options):
            document |= {**found, "machine": machine()}
            RESULTS.mkdir(exist_ok=True)
            path.write_text(json.dumps(document, indent=2) + "\n")


def peaks(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    yield {
        "peak_mib": {
            net: {arm: elsewhere(__file__, "--peak-of", net, arm)["peak_mib"] for arm in options.arms}
            for net in options.nets
        }
    }


def steps(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    yield {"steps": {net: steps_of(net, options.arms) for net in options.nets}}


def accuracies(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What there is after each seed."""
    sets = {"textures": textures(options.textures)} if options.textures else {}
    if options.photos is not None:
        sets["photos"] = load_photos(options.photos)
    runs: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for seed in range(options.seeds):
        for kind, task in sets.items():
            for net in options.nets:
                for arm in options.arms:
                    run = train(net, task, arm, seed=seed, epochs=options.epochs)
                    print(f"{kind}, {net}, {arm}, seed {seed}: {run}", flush=True)
                    runs.setdefault(f"{net} on {kind}", {}).setdefault(arm, []).append(run)
        yield {
            "photos": options.source,
            "seeds": seed + 1,
            "epochs": options.epochs,
            "results": {
                task: {arm: summarized(own) for arm, own in arms.items()} for task, arms in runs.items()
            },
        }


MEASURE = {"peak": peaks, "steps": steps, "accuracy": accuracies}


if __name__ == "__main__":
    main()
