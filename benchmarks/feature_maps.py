"""How many bytes do the maps between layers need at inference, and what does that cost in accuracy? A thin
ResNet-50 is trained from scratch; then calibration chooses codecs, from several families and for several
tolerances.

    python benchmarks/feature_maps.py --photos /path/to/imagefolder --source "what they are"

The photo set is an image folder with train/ and test/ (a folder a class, at any depth below); without one,
textures are learnt. Trained networks are kept with `--networks`, so that more codecs can be tried later.

Ratios are over maps of 8 bits an element; over float32 they are four times that. Accuracy is compared with
that of the same trained network without compression.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from activation_nets import Bottleneck, ResNet
from harness import RESULTS, machine
from small_images import BATCH, Task, augmented, centred, load_photos, textures
from torch import Tensor, nn

import halfbyte.activations as act

HELD_OUT = 2 * BATCH  # training images that only calibration sees
DEPTHS = (3, 4, 6, 3)  # of ResNet-50

JPEG: list[act.Codec] = [
    act.JpegAct(table, "divide", "nearest", "rle") for table in ("optL", "optH", "jpeg90", "jpeg80", "jpeg50")
]
NEAR_ZERO: list[act.Codec] = [
    *(act.NearZero(bits=bits) for bits in (3, 4, 5, 6, 7, 8)),
    *(act.NearZero(2.0**-bits, bits) for bits in (4, 5, 6)),
]
CHANNEL_DCT: list[act.Codec] = [act.ChannelDct(bits=bits) for bits in (4, 5, 6, 7, 8)]
ERROR_BOUNDED: list[act.Codec] = [act.ErrorBounded(2.0**-k, relative=True) for k in (3, 4, 5, 6, 7)]
FAMILIES = {
    "JPEG-ACT": JPEG,
    "2-D DCT and near zero": JPEG + NEAR_ZERO,
    "channel DCT": CHANNEL_DCT,
    "error-bounded": ERROR_BOUNDED,
}


def add_network_options(parser: argparse.ArgumentParser) -> None:
    """What to train, and on what."""
    parser.add_argument("--photos", type=Path, help="image folder with train/ and test/; without: textures")
    parser.add_argument("--source", default="unnamed photographs", help="what they are, for the results file")
    parser.add_argument("--textures", type=int, default=3072, help="to train on; half as many to test")
    parser.add_argument("--side", type=int, default=64, help="of the photos, in pixels")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--width", type=int, default=16, help="of the stem; 64 is a ResNet-50")
    parser.add_argument("--networks", type=Path, help="a folder for the trained networks of this photo set")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())


def task_of(options: argparse.Namespace) -> Task:
    return textures(options.textures) if options.photos is None else load_photos(options.photos, options.side)


def order_of(task: Task) -> Tensor:
    """Training images in a random order, those for calibration first."""
    return torch.randperm(len(task.train[0]), generator=torch.Generator().manual_seed(0))


def held_out(task: Task) -> Tensor:
    return task.train[0][order_of(task)[:HELD_OUT]]


def trained(task: Task, options: argparse.Namespace, seed: int) -> nn.Module:
    """A network, from its file if there is one."""
    torch.manual_seed(seed)
    model = ResNet(Bottleneck, DEPTHS, options.width, task.classes, pool=True)
    if options.networks is None:
        return train(model, task, seed=seed, epochs=options.epochs)
    name = f"width {options.width}, {options.side} pixels, {options.epochs} epochs, {seed}.pt"
    path = options.networks / name
    if path.exists():
        model.load_state_dict(torch.load(path))
        return model.eval()
    train(model, task, seed=seed, epochs=options.epochs)
    options.networks.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), path)
    return model


def train(model: nn.Module, task: Task, *, seed: int, epochs: int) -> nn.Module:
    images, labels = (part[order_of(task)[HELD_OUT:]] for part in task.train)
    model.train().to(memory_format=torch.channels_last)
    steps = epochs * (len(images) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), 1.5e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.5e-3, total_steps=steps)
    generator = torch.Generator().manual_seed(1000 + seed)
    for _ in range(epochs):
        order = torch.randperm(len(images), generator=generator)
        for rows in order.split(BATCH)[: len(images) // BATCH]:
            optimizer.zero_grad()
            batch = augmented(images[rows], generator, mirrored=task.mirrored)
            batch = batch.contiguous(memory_format=torch.channels_last)
            F.cross_entropy(model(batch), labels[rows]).backward()
            optimizer.step()
            schedule.step()
    return model.eval().to(memory_format=torch.contiguous_format)


def accuracy(model: nn.Module, task: Task) -> float:
    """Top-1 on the test images, in percent."""
    images, labels = task.test
    with torch.inference_mode():
        scores = torch.cat([model(centred(part)) for part in images.split(256)])
    return 100 * float((scores.argmax(1) == labels).double().mean())


def measure(model: nn.Module, task: Task, family: str, tolerance: float) -> dict[str, Any]:
    """Calibrate on two batches that were not trained on, and test."""
    batches = [centred(part) for part in held_out(task).split(BATCH)]
    start = time.perf_counter()
    maps = act.feature_maps(model, FAMILIES[family], calibrate=batches, tolerance=tolerance)
    seconds = time.perf_counter() - start
    with maps:
        found = maps.compare(lambda m: accuracy(m, task))
    total = maps.total()
    chosen: dict[str, int] = {}
    for row in maps.to_dict()["maps"]:
        name = row["codec"]["codec"]
        chosen[name] = chosen.get(name, 0) + 1
    return {
        "accuracy": round(found.plain, 2),
        "change": round(found.change, 2),
        "ratio": round(total.over_8_bits, 3),
        "squared_relative_error": round(total.error, 5),
        "maps": chosen,
        "calibration_seconds": round(seconds, 1),
    }


def summarized(runs: list[dict[str, Any]]) -> dict[str, Any]:
    mean: dict[str, Any] = {"runs": runs}
    for name in ("accuracy", "change", "ratio"):
        values = [run[name] for run in runs]
        mean[name] = round(statistics.mean(values), 2)
        if len(values) > 1:
            mean[f"{name}_standard_deviation"] = round(statistics.stdev(values), 2)
    mean["ratio_over_float32"] = round(4 * mean["ratio"], 2)
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    add_network_options(parser)
    parser.add_argument("--families", nargs="+", choices=[*FAMILIES], default=[*FAMILIES])
    parser.add_argument("--tolerances", nargs="+", type=float, default=[0.003, 0.005, 0.01])
    parser.add_argument("--name", default="feature_maps", help="of the results file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    task = task_of(options)
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for seed in range(options.seeds):
        model = trained(task, options, seed)
        for family in options.families:
            for tolerance in options.tolerances:
                try:
                    run = measure(model, task, family, tolerance)
                except ValueError as error:  # no codec is that accurate
                    print(f"{family}, tolerance {tolerance:g}, seed {seed}: left out: {error}", flush=True)
                    continue
                print(f"{family}, tolerance {tolerance:g}, seed {seed}: {run}", flush=True)
                results.setdefault(family, {}).setdefault(f"{tolerance:g}", []).append(run)
        save(options, task, results, seed + 1)


def save(options: argparse.Namespace, task: Task, results: dict[str, Any], seeds: int) -> None:
    document = {
        "benchmark": "feature_maps",
        "images": "textures" if options.photos is None else options.source,
        "net": f"ResNet-50 with a stem of {options.width} channels, {task.side} x {task.side} pixels",
        "seeds": seeds,
        "epochs": options.epochs,
        "machine": machine(),
        "results": {
            family: {tolerance: summarized(runs) for tolerance, runs in by_tolerance.items()}
            for family, by_tolerance in results.items()
        },
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{options.name}.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
