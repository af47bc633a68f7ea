"""How much accuracy do fewer bytes cost? The same network, seeds, epochs and augmentations at every fidelity,
with every policy, and with what people do otherwise: images encoded again, at lower quality or smaller.

    python benchmarks/accuracy.py --data groceries=/path/to/imagefolder --tiles views=/path/to/photographs

A data set is an image folder: train/ and test/ with a folder for each class, or classes alone, of which every
fourth image then tests. Or it is made of large photographs: tiles of 256 pixels, the class is the photograph,
and training and testing have regions of their own. Without any, tiles of the photographs that the demo uses.
All are tested at full fidelity.

What the results file holds of an earlier call with the same settings is kept, and gone on from: more seeds,
or other arms.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from activation_nets import Basic, ResNet
from harness import QUICK, RESULTS, machine
from PIL import Image
from torch import Tensor, nn

import halfbyte
from halfbyte import tuning
from halfbyte.cli.demo_photos import TileOptions, find_photos, write_tiles
from halfbyte.loader.fidelity import Fidelity, FidelityPolicy, Moment

SIDE, BATCH = 64, 64
RECORD_BYTES = 1 << 20
IMAGES = (".jpg", ".jpeg", ".png")
NORMAL = halfbyte.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
TRAIN = halfbyte.Transform(halfbyte.RandomResizedCrop(SIDE, scale=(0.25, 1.0)), flip=0.5, normalize=NORMAL)
TEST = halfbyte.Transform(halfbyte.CenterCrop(SIDE, resize=SIDE * 8 // 7), normalize=NORMAL)
PROBING = 0.3  # of the time: a run has few hundred steps here, and a probe costs the same as in long ones
LARGE_TILES = TileOptions(train=80, test=32, side=256, region=600)
STATIC = (0.95, 0.97)  # targets of StaticQuality: the paper's, and ours
COSINES = (0.9, 0.995)  # thresholds of GradientSimilarity, likewise
BANDWIDTH = 10e6  # bytes a second, for what a run takes where bytes are short

Listed = list[tuple[Path, str]]  # images and their classes
Runs = list[dict[str, Any]]  # one a seed: accuracy, bytes, seconds, decisions
Choose = Callable[[nn.Module, torch.optim.Optimizer], Fidelity | FidelityPolicy]


@dataclass(frozen=True)
class Arm:
    """One way to train: which records, and what chooses the fidelity."""

    records: Path
    fidelity: Choose


@dataclass(frozen=True)
class Task:
    """A data set, converted."""

    classes: int
    train: Path
    tests: list[tuple[Tensor, Tensor]]
    images: Listed
    folder: Path


def listed(folder: Path) -> tuple[Listed, Listed]:
    """Images for training and for testing, with the folder that each lies in."""
    if (folder / "train").is_dir():
        return found_in(folder / "train"), found_in(folder / "test")
    every = found_in(folder)
    return [x for n, x in enumerate(every) if n % 4], every[::4]


def found_in(folder: Path) -> Listed:
    paths = sorted(p for p in folder.rglob("*") if p.suffix.lower() in IMAGES)
    return [(path, path.parent.name) for path in paths]


def convert(images: Listed, out: Path, *, quality: bool = False) -> Path:
    """Records of these images, small enough that mixtures have something to draw."""
    classes = {name: number for number, name in enumerate(sorted({name for _, name in images}))}
    table = out.with_suffix(".jsonl")
    rows = [{"path": str(path.absolute()), "label": classes[name]} for path, name in images]
    table.write_text("\n".join(map(json.dumps, rows)))
    halfbyte.convert(table, out, record_bytes=RECORD_BYTES, quality=quality)
    return out


def prepare(folder: Path, work: Path) -> Task:
    train, test = listed(folder)
    classes = sorted({name for _, name in train})
    test = [(path, name) for path, name in test if name in classes]
    ds = halfbyte.open(convert(test, work / "test"), transform=TEST, fields=["label"])
    tests = [(b["image"], b["label"]) for b in halfbyte.Loader(ds, batch_size=256, shuffle=False)]
    return Task(len(classes), convert(train, work / "train", quality=True), tests, train, work)


def encoded_again(
    task: Task, name: str, target: float, encode: Callable[[Image.Image, float], bytes]
) -> Path:
    """Records of the training images, encoded so that they take about `target` bytes each.

    Args:
        encode: gives fewer bytes for a smaller number, from 0 to 1.
    """
    sample = [open_rgb(path) for path, _ in task.images[:: max(1, len(task.images) // 48)]]
    low, high = 0.0, 1.0
    for _ in range(7):
        middle = (low + high) / 2
        size = statistics.mean(len(encode(image, middle)) for image in sample)
        low, high = (middle, high) if size < target else (low, middle)
    folder = task.folder / f"{name} files"
    images = []
    for number, (path, label) in enumerate(task.images):
        own = folder / label / f"{number}.jpg"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_bytes(encode(open_rgb(path), (low + high) / 2))
        images.append((own, label))
    return convert(images, task.folder / name)


def open_rgb(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB")


def at_lower_quality(image: Image.Image, share: float) -> bytes:
    return jpeg(image, round(1 + 94 * share))


def at_smaller_size(image: Image.Image, share: float) -> bytes:
    size = (max(16, round(image.width * share)), max(16, round(image.height * share)))
    return jpeg(image.resize(size, Image.Resampling.LANCZOS), 75)


def jpeg(image: Image.Image, quality: int) -> bytes:
    sink = io.BytesIO()
    image.save(sink, "JPEG", quality=quality, optimize=True, progressive=True)
    return sink.getvalue()


def loss(model: nn.Module, batch: dict[str, Any]) -> Tensor:
    return F.cross_entropy(model(batch["image"]), batch["label"])


def arms_of(task: Task, epochs: int) -> dict[str, Arm]:
    """By name; the last ones take about as many bytes as StaticQuality does."""
    ds = halfbyte.open(task.train)
    levels, epoch = ds.num_levels, len(ds) // BATCH
    arms = {f"fidelity {k}": at_fidelity(task, k) for k in fidelities(levels)}
    policies: dict[str, Choose] = {
        f"GradientSimilarity({threshold})": partial(similarity, threshold, epoch) for threshold in COSINES
    }
    policies |= {
        "LossProbe": lambda model, optimizer: tuning.LossProbe(
            model, optimizer, loss, every=epoch, burst=8, share=PROBING
        ),
        "Schedule, low to full": lambda *_: tuning.Schedule({0: 2, epochs // 2: 5, epochs - 1: None}),
        f"last epoch in full, StaticQuality({STATIC[-1]})": lambda *_: tuning.Schedule(
            {0: tuning.StaticQuality(STATIC[-1]), epochs - 1: None}
        ),
        "Mixture, 4 of 5 at 2": lambda *_: tuning.Mixture({2: 4, levels: 1}),
    }
    arms |= {name: Arm(task.train, choose) for name, choose in policies.items()}
    target = ds.bytes_at(static_choice(ds, STATIC[-1])) / len(ds)
    for name, encode in (("lower quality", at_lower_quality), ("smaller images", at_smaller_size)):
        arms[f"encoded again, {name}"] = Arm(encoded_again(task, name, target, encode), lambda *_: None)
    return arms


def similarity(
    threshold: float, every: int, model: nn.Module, _: torch.optim.Optimizer
) -> tuning.GradientSimilarity:
    return tuning.GradientSimilarity(model, loss, threshold=threshold, every=every, share=PROBING)


def at_fidelity(task: Task, k: int) -> Arm:
    return Arm(task.train, lambda *_: k)


def fidelities(levels: int) -> list[int]:
    return [k for k in (1, 2, 4, 5) if k < levels] + [levels]


def static_choice(ds: halfbyte.Dataset, target: float) -> int:
    """What StaticQuality chooses, once and for all."""
    policy = tuning.StaticQuality(target)
    policy.begin(ds)
    choice = policy.choose(Moment(0, 0.0, ds.counters.to_dict()))
    assert isinstance(choice, int)
    return choice


def train(task: Task, arm: Arm, *, seed: int, epochs: int) -> dict[str, Any]:
    """One run: accuracy on the test images at full fidelity, and the bytes that training read."""
    torch.manual_seed(seed)
    model = ResNet(Basic, (1, 1, 1), 16, task.classes, pool=True).train()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.05)
    ds = halfbyte.open(arm.records, transform=TRAIN, fields=["label"], seed=seed)
    loader = halfbyte.Loader(
        ds, batch_size=BATCH, fidelity=arm.fidelity(model, optimizer), window=None, drop_last=True
    )
    steps = epochs * len(loader)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    start = time.perf_counter()
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            loss(model, batch).backward()
            optimizer.step()
            schedule.step()
    result = {
        "accuracy": accuracy(model, task.tests),
        "bytes": loader.counters.bytes_read,
        "seconds": round(time.perf_counter() - start, 1),
    }
    if loader.policy is not None:
        result["decisions"] = [str(decision) for decision in loader.policy.log]
    return result


def accuracy(model: nn.Module, tests: list[tuple[Tensor, Tensor]]) -> float:
    """Percent."""
    model.eval()
    with torch.inference_mode():
        right = sum(int((model(images).argmax(1) == labels).sum()) for images, labels in tests)
    return round(100 * right / sum(len(labels) for _, labels in tests), 2)


def summarized(runs: Runs, full: Runs) -> dict[str, Any]:
    """Means over seeds; whether the loss against full fidelity is within one standard error of it."""
    full = full[: len(runs)]
    own, reference = ([run["accuracy"] for run in some] for some in (runs, full))
    size = statistics.mean(run["bytes"] for run in runs)
    result: dict[str, Any] = {
        "accuracy": round(statistics.mean(own), 2),
        "against_full": round(statistics.mean(own) - statistics.mean(reference), 2),
        "megabytes": round(size / 1e6, 2),
        "bytes_against_full": round(size / statistics.mean(run["bytes"] for run in full), 4),
        "seconds_to_fetch": round(size / BANDWIDTH, 1),
        "runs": runs,
    }
    if len(own) > 1:
        error = math.sqrt((statistics.variance(own) + statistics.variance(reference)) / len(own))
        result["standard_deviation"] = round(statistics.stdev(own), 2)
        result["standard_error_of_difference"] = round(error, 2)
        result["at_parity"] = statistics.mean(own) >= statistics.mean(reference) - error
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    for given in ("--data", "--tiles"):
        parser.add_argument(given, action="append", default=[], type=named, metavar="NAME=FOLDER")
    parser.add_argument("--source", default="unnamed photographs", help="what they are, for the results file")
    parser.add_argument("--arms", nargs="+", help="only those whose names begin like one of these")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="one seed, three epochs")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--name", default="accuracy", help="of the results file")
    parser.add_argument("--fresh", action="store_true", help="forget what the results file holds")
    options = parser.parse_args()
    if options.quick:
        options.seeds, options.epochs, options.fresh = 1, 3, True
    options.name = QUICK * options.quick + options.name
    torch.set_num_threads(options.threads)
    results = {} if options.fresh else recorded(options)
    with tempfile.TemporaryDirectory() as work:
        for name, folder in folders_of(options, Path(work)).items():
            (Path(work) / name).mkdir()
            before = results.get(name, {}).get("arms", {})
            for result in measure(prepare(folder, Path(work) / name), name, options, before):
                results[name] = result
                save(options, results)


def named(entry: str) -> tuple[str, Path]:
    name, _, folder = entry.partition("=")
    if not Path(folder).is_dir():
        raise argparse.ArgumentTypeError(f"{entry!r} names no folder; write NAME=/path/to/folder")
    return name, Path(folder)


def folders_of(options: argparse.Namespace, work: Path) -> dict[str, Path]:
    """The image folders by name; those of tiles are made."""
    folders = dict(options.data)
    cut = {name: (large_photos(folder), LARGE_TILES) for name, folder in options.tiles}
    if not folders and not cut:
        cut = {"demo tiles": (find_photos(), TileOptions())}
    for name, (own, tiles) in cut.items():
        folders[name] = work / f"{name} photos"
        write_tiles(own, folders[name], tiles, seed=0)
    return folders


def large_photos(folder: Path) -> list[Path]:
    """Those that give enough tiles; of files of one name, one."""
    found = {path.stem: path for path, _ in found_in(folder) if min(Image.open(path).size) >= 1000}
    return [found[name] for name in sorted(found)]


def measure(
    task: Task, name: str, options: argparse.Namespace, before: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The results after each seed, those that were there before included."""
    arms = arms_of(task, options.epochs)
    ds = halfbyte.open(task.train)
    full = f"fidelity {ds.num_levels}"
    static = {f"StaticQuality({target})": f"fidelity {static_choice(ds, target)}" for target in STATIC}
    for fixed in static.values():
        arms.setdefault(fixed, at_fidelity(task, int(fixed.split()[-1])))
    wanted = {arm for arm in arms if arm.startswith(tuple(options.arms or arms))} | {full, *static.values()}
    runs: dict[str, Runs] = {arm: before.get(arm, {}).get("runs", []) for arm in arms}
    for seed in range(options.seeds):
        for arm, own in runs.items():
            if arm in wanted and len(own) == seed:
                own.append(train(task, arms[arm], seed=seed, epochs=options.epochs))
                print(f"{name}, {arm}, seed {seed}: {own[-1]}", flush=True)
        yield {
            "images": len(task.images),
            "tests": sum(len(labels) for _, labels in task.tests),
            "classes": task.classes,
            "arms": {
                arm: summarized(own, runs[full]) for arm, own in with_static(runs, static).items() if own
            },
        }


def with_static(runs: dict[str, Runs], static: dict[str, str]) -> dict[str, Runs]:
    """StaticQuality too: it chooses before the first step, and never again, so its runs are those at that
    fidelity."""
    chosen = {
        name: [{**run, "decisions": [f"{fixed} throughout"]} for run in runs[fixed]]
        for name, fixed in static.items()
    }
    return runs | chosen


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """What results must have in common to stand beside each other."""
    return {
        "benchmark": "accuracy",
        "photos": options.source,
        "epochs": options.epochs,
        "side": SIDE,
        "bandwidth_bytes_per_s": BANDWIDTH,
    }


def recorded(options: argparse.Namespace) -> dict[str, Any]:
    """What an earlier call with these settings found."""
    path = RESULTS / f"{options.name}.json"
    if not path.exists():
        return {}
    document = json.loads(path.read_text())
    for key, value in settings(options).items():
        if document[key] != value:
            raise SystemExit(
                f"{path} is of {key} {document[key]!r}, expected {value!r}; name another file by --name, or "
                f"give --fresh"
            )
    results: dict[str, Any] = document["results"]
    return results


def save(options: argparse.Namespace, results: dict[str, Any]) -> None:
    document = {**settings(options), "machine": machine(), "results": results}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{options.name}.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
