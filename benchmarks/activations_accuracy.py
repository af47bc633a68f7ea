"""Does training with compressed activations reach the same accuracy? The same networks, data, seeds and
augmentations under every policy.

    python benchmarks/activations_accuracy.py --photos /path/to/imagefolder --source "what they are"

The photo set is an image folder with train/ and test/ (a folder a class, at any depth below); the other set
is made here: textures that differ by frequency and orientation, under noise that hides them.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from activation_nets import Basic, ResNet, ViT
from harness import RESULTS, machine
from PIL import Image
from torch import Tensor, nn

import halfbyte.activations as act

SIDE = 32
MARGIN = 4
BATCH = 64

NETS: dict[str, Callable[[int], nn.Module]] = {
    "resnet": lambda classes: ResNet(Basic, (1, 1, 1), 8, classes),
    "vit": lambda classes: ViT(SIDE, 4, 64, 2, classes),
}
POLICIES: dict[str, Callable[[], Any] | None] = {
    "none": None,
    "sfpr": act.sfpr,
    "jpeg_act optL5H": lambda: act.jpeg_act(schedule="optL5H"),
    "jpeg_act optH": lambda: act.jpeg_act(schedule="optH"),
    "group 4 bits": lambda: act.group_quantized(bits=4),
    "group 2 bits": lambda: act.group_quantized(bits=2),
    "group 1 bit": lambda: act.group_quantized(bits=1),
    "gist": act.gist,
}
Split = tuple[Tensor, Tensor]  # uint8 images (N, 3, SIDE + 2 MARGIN, SIDE + 2 MARGIN), int64 labels


class Task(NamedTuple):
    """What is learnt, and whether an image and its mirror image are of one class."""

    train: Split
    test: Split
    classes: int
    mirrored: bool


def load_photos(folder: Path) -> Task:
    """An image folder, its photos made small; a class is the folder that a photo lies in."""
    padded = SIDE + 2 * MARGIN
    found = {
        part: sorted((folder / part).rglob("*.jpg"), key=lambda path: path.as_posix())
        for part in ("train", "test")
    }
    classes = sorted({path.parent.name for path in found["train"]})
    splits = []
    for paths in found.values():
        pictures = [
            Image.open(path).convert("RGB").resize((padded, padded), Image.Resampling.BOX) for path in paths
        ]
        images = (
            torch.from_numpy(np.stack([np.asarray(p) for p in pictures])).permute(0, 3, 1, 2).contiguous()
        )
        splits.append((images, torch.tensor([classes.index(path.parent.name) for path in paths])))
    return Task(splits[0], splits[1], len(classes), mirrored=True)


def textures(count: int) -> Task:
    return Task(make_textures(count, 1), make_textures(count // 2, 2), 16, mirrored=False)


def make_textures(count: int, seed: int) -> Split:
    """Gratings of 4 frequencies and 4 orientations, any phase and colour, under noise that hides some."""
    generator = torch.Generator().manual_seed(seed)
    padded = SIDE + 2 * MARGIN
    labels = torch.randint(0, 16, (count,), generator=generator)
    angle = (labels // 4 + 0.3 * torch.rand(count, generator=generator)) * (math.pi / 4)
    frequency = (0.10 + 0.06 * (labels % 4)) * (1 + 0.1 * torch.rand(count, generator=generator))
    phase = 2 * math.pi * torch.rand(count, generator=generator)
    y, x = torch.meshgrid(torch.arange(padded), torch.arange(padded), indexing="ij")
    along = x * angle.cos().view(-1, 1, 1) + y * angle.sin().view(-1, 1, 1)
    grating = (2 * math.pi * frequency.view(-1, 1, 1) * along + phase.view(-1, 1, 1)).sin()
    colour = 0.5 + torch.rand(count, 3, 1, 1, generator=generator)
    strength = 0.1 + 0.3 * torch.rand(count, 1, 1, 1, generator=generator)
    noise = torch.randn(count, 3, padded, padded, generator=generator)
    images = 128 + 24 * (strength * colour * grating.unsqueeze(1) + noise)
    return images.clamp(0, 255).to(torch.uint8), labels


def augmented(images: Tensor, generator: torch.Generator, *, mirrored: bool) -> Tensor:
    """A random crop (and flip) for all of a batch; float32 (N, 3, SIDE, SIDE), about standard normal."""
    dy, dx, flip = (
        int(torch.randint(0, n, (1,), generator=generator)) for n in (2 * MARGIN + 1, 2 * MARGIN + 1, 2)
    )
    crop = images[:, :, dy : dy + SIDE, dx : dx + SIDE]
    return normalized(crop.flip(3) if flip and mirrored else crop)


def normalized(images: Tensor) -> Tensor:
    return (images.float() - 128) / 64


def train(net: str, task: Task, policy: str, *, seed: int, epochs: int) -> dict[str, Any]:
    """One run: the accuracy on the test images, and the bytes saved for backward."""
    (images, labels), (test_images, test_labels) = task.train, task.test
    torch.manual_seed(seed)
    model = NETS[net](task.classes).train()
    steps = epochs * (len(images) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    make = POLICIES[policy]
    compressor = act.compress(model, policy=make(), seed=seed) if make is not None else None
    generator = torch.Generator().manual_seed(1000 + seed)
    start = time.perf_counter()
    for epoch in range(epochs):
        if compressor is not None:
            compressor.set_epoch(epoch)
        order = torch.randperm(len(images), generator=generator)
        for rows in order.split(BATCH)[: len(images) // BATCH]:
            batch = augmented(images[rows], generator, mirrored=task.mirrored)
            optimizer.zero_grad()
            if compressor is None:
                F.cross_entropy(model(batch), labels[rows]).backward()
            else:
                with compressor:
                    F.cross_entropy(model(batch), labels[rows]).backward()
            optimizer.step()
            schedule.step()
    seconds = time.perf_counter() - start
    model.eval()
    with torch.inference_mode():
        edge = slice(MARGIN, MARGIN + SIDE)
        scores = torch.cat([model(normalized(part[:, :, edge, edge])) for part in test_images.split(256)])
    right = (scores.argmax(1) == test_labels).double().mean()
    return {"accuracy": round(100 * float(right), 2), "seconds": round(seconds, 1), **saved(compressor)}


def saved(compressor: act.compress | None) -> dict[str, Any]:
    """Bytes for backward a step, in float32 and as held."""
    if compressor is None:
        return {}
    ledger = compressor.ledger
    total = ledger.totals("packed", "exact")
    return {
        "float32_bytes": total.before // ledger.steps,
        "held_bytes": total.after // ledger.steps,
        "ratio": round(total.ratio, 2),
    }


def summarized(runs: list[dict[str, Any]]) -> dict[str, Any]:
    accuracy = [run["accuracy"] for run in runs]
    mean = {"accuracy": round(statistics.mean(accuracy), 2), "runs": accuracy}
    if len(accuracy) > 1:
        mean["standard_deviation"] = round(statistics.stdev(accuracy), 2)
    for name in ("ratio", "seconds"):
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
    parser.add_argument("--policies", nargs="+", choices=[*POLICIES], default=[*POLICIES])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument(
        "--textures", type=int, default=3072, help="textures to train on; half as many to test"
    )
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--name", default="activations_accuracy", help="of the results file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sets = {"textures": textures(options.textures)}
    if options.photos is not None:
        sets["photos"] = load_photos(options.photos)
    results: dict[str, dict[str, Any]] = {}
    for seed in range(options.seeds):
        for kind, task in sets.items():
            for net in options.nets:
                for policy in options.policies:
                    run = train(net, task, policy, seed=seed, epochs=options.epochs)
                    print(f"{kind}, {net}, {policy}, seed {seed}: {run}", flush=True)
                    results.setdefault(f"{net} on {kind}", {}).setdefault(policy, []).append(run)
                save(options, results, seed + 1)


def save(options: argparse.Namespace, results: dict[str, dict[str, Any]], seeds: int) -> None:
    document = {
        "benchmark": options.name,
        "photos": options.source,
        "seeds": seeds,
        "epochs": options.epochs,
        "machine": machine(),
        "results": {
            task: {policy: summarized(runs) for policy, runs in policies.items()}
            for task, policies in results.items()
        },
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{options.name}.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
