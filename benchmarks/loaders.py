"""halfbyte against the loaders that people would pick instead: the same photos, crops, cores and links.

    python benchmarks/loaders.py --photos /path/to/imagefolder --source "what they are"

Each peer runs in a virtual environment of its own, made below build/peers on first use. Random resized crops
to 224, half of them flipped, uint8 batches of 64, two workers or threads. --quick takes less than ten minutes
once the environments are there. What could not be run is in the results, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import sys
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from harness import QUICK, RESULTS, machine
from peers.child import Child, PeerError
from peers.environments import make_environment

BUILD = Path(__file__).parent.parent / "build" / "peers"
DATA = BUILD / "data"
PEERS = (
    *(
        "halfbyte",
        "halfbyte_spectral",
        "imagefolder",
        "webdataset",
        "litdata",
        "streaming",
        "datasets",
        "dali",
    ),
    *("grain", "ffcv"),
)
PREPARE_SECONDS = 1800.0


@dataclass(frozen=True)
class Store:
    """Where the bytes are while an epoch is measured.

    Attributes:
        bandwidth: of the link, in bytes a second; None where files are local.
        latency: of the link, in seconds a request.
        cold: drop the files from the page cache before each epoch.
    """

    bandwidth: float | None = None
    latency: float = 0.0
    cold: bool = False


STORES = {"page cache": Store(), "cold files": Store(cold=True)} | {
    f"{megabytes} MB/s, {ms} ms": Store(megabytes * 1e6, ms / 1000)
    for ms in (0, 20)
    for megabytes in (10, 50, 200)
}
QUICK_STORES = ("page cache", "10 MB/s, 20 ms")


@dataclass
class Arm:
    """One way to read, its process, and what its epochs cost, store by store."""

    name: str
    peer: str
    command: list[str | Path]
    child: Child | None = None
    runs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def end(self) -> None:
        if self.child is not None:
            self.child.end()
            self.child = None


@dataclass
class Link:
    """The throttled server."""

    child: Child
    address: str

    def ask(self, what: str) -> dict[str, int]:
        with urllib.request.urlopen(f"{self.address}/.{what}") as answer:
            return json.load(answer)


def main() -> None:
    options = parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    (BUILD / "logs").mkdir(parents=True, exist_ok=True)
    count, size = gather(options.photos, options.count)
    print(f"{count} photos, {size / 1e6:.1f} MB", flush=True)
    peers: dict[str, dict[str, Any]] = {}
    with ExitStack() as ending:
        arms = []
        pythons = make_environments(options.peers)
        for name in options.peers:
            peers[name], own = set_up(name, pythons[name])
            arms += own
            print(f"{name}: {json.dumps(peers[name])}", flush=True)
        for arm in arms:
            ending.callback(arm.end)
        link = open_link(ending)
        for store in options.stores:
            measure(store, arms, link, count, options)
            save(options, {"images": count, "bytes": size}, peers, arms)
    print(f"results/{options.name}.json")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument(
        "--photos", type=Path, required=True, help="an image folder; of one with train/, that"
    )
    parser.add_argument("--source", default="unnamed photographs", help="what they are, for the results file")
    parser.add_argument("--count", type=int, help="how many images in an epoch; all, once")
    parser.add_argument("--peers", nargs="+", default=PEERS, choices=PEERS, metavar="PEER")
    parser.add_argument("--stores", nargs="+", default=None, choices=STORES, metavar="STORE")
    parser.add_argument("--rounds", type=int, help="epochs an arm and store, after one to warm up; 5")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2, help="worker processes or decoding threads of each")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds that one epoch may take")
    parser.add_argument("--quick", action="store_true", help="two stores, two rounds, 384 photos")
    parser.add_argument("--name", default="loaders", help="of the results file")
    options = parser.parse_args()
    options.name = QUICK * options.quick + options.name
    options.stores = options.stores or (QUICK_STORES if options.quick else tuple(STORES))
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.count = options.count or (384 if options.quick else None)
    return options


def gather(source: Path, count: int | None) -> tuple[int, int]:
    """Copy photos into class folders, named so that shards mix the classes; return how many and their bytes.

    Where there are fewer than asked, they are copied again, so that epochs can be as long as one likes.
    """
    source = source / "train" if (source / "train").is_dir() else source
    found = sorted(path for path in source.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    if not found:
        raise SystemExit(f"{source}: no JPEG files; give an image folder as --photos")
    random.Random(0).shuffle(found)
    shutil.rmtree(DATA, ignore_errors=True)
    for number, path in enumerate(islice(cycle(found), count or len(found))):
        target = DATA / "photos" / path.parent.name / f"{number:06}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    files = list((DATA / "photos").rglob("*.jpg"))
    return len(files), sum(path.stat().st_size for path in files)


def make_environments(names: Sequence[str]) -> dict[str, Path | RuntimeError]:
    """The Python of each peer, or why there is none; as many are made at once as there are cores."""

    def make(name: str) -> Path | RuntimeError:
        try:
            return make_environment(name, BUILD)
        except RuntimeError as error:
            return error

    print("making environments, where they are not there", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(make, names), strict=True))


def set_up(name: str, python: Path | RuntimeError) -> tuple[dict[str, Any], list[Arm]]:
    """Convert the photos for a peer: what that took, and its arms."""
    if isinstance(python, RuntimeError):
        return {"missing": str(python)}, []
    child = None
    try:
        command: list[str | Path] = [python, "-m", "peers.serve", name]
        (DATA / name).mkdir()
        child = Child(command, BUILD / "logs" / f"{name}.log")
        about = child.ask({"do": "describe"}, timeout=PREPARE_SECONDS)
        request = {"do": "prepare", "photos": str(DATA / "photos"), "out": str(DATA / name)}
        took = child.ask(request, timeout=PREPARE_SECONDS)
    except PeerError as error:
        return {"missing": str(error)}, []
    finally:
        if child is not None:
            child.end()
    conversion = {
        "seconds": round(took["seconds"], 2),
        "cpu_seconds": round(took["cpu_seconds"], 2),
        "bytes": sizes(DATA / name),
    }
    arms = [Arm(arm, name, command) for arm in about["arms"]]
    return {"versions": about["versions"], "link": about["link"], "conversion": conversion}, arms


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of the files below a folder, by what their names end in."""
    found: dict[str, int] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found[path.suffix] = found.get(path.suffix, 0) + path.stat().st_size
    return found


def open_link(ending: ExitStack) -> Link:
    child = Child([sys.executable, "-m", "peers.link", "--root", BUILD], BUILD / "logs" / "link.log")
    ending.callback(child.end)
    return Link(child, child.read_line(timeout=30)[0].decode())


def measure(store: str, arms: Sequence[Arm], link: Link, count: int, options: argparse.Namespace) -> None:
    """All arms in turn, each round beginning with another one; the first round is not counted."""
    for turn in range(options.rounds + 1):
        first = turn % max(1, len(arms))
        for arm in (*arms[first:], *arms[:first]):
            if store in arm.missing:
                continue
            try:
                run = run_epoch(arm, STORES[store], link, turn, options)
                if "missing" not in run and abs(run["images"] - count) >= options.batch:
                    raise PeerError(f"it gave {run['images']} images of {count}")
            except PeerError as error:
                arm.end()
                run = {"missing": str(error)}
            if "missing" in run:
                arm.missing[store] = run["missing"]
                print(f"{store}, {arm.name}: missing: {run['missing']}", flush=True)
            elif turn:
                arm.runs.setdefault(store, []).append(run)
                rate = run["images"] / run["seconds"]
                print(f"{store}, {arm.name}, round {turn}: {rate:.0f} images/s", flush=True)


def run_epoch(arm: Arm, store: Store, link: Link, turn: int, options: argparse.Namespace) -> dict[str, Any]:
    if arm.child is None:
        arm.child = Child(arm.command, BUILD / "logs" / f"{arm.peer}.log")
    if store.cold:
        drop_from_page_cache(DATA / arm.peer)
    url = None
    if store.bandwidth is not None:
        url = f"{link.address}/data/{arm.peer}"
        link.ask(f"link?bandwidth={store.bandwidth}&latency={store.latency}")
    task = {
        "photos": str(DATA / "photos"),
        "folder": str(DATA / arm.peer),
        "url": url,
        "scratch": str(BUILD / "scratch"),
        "seed": turn,
        "batch": options.batch,
        "workers": options.workers,
    }
    run = arm.child.ask({"do": "epoch", "arm": arm.name, "task": task}, timeout=options.timeout)
    if store.cold and "missing" not in run and not run["device_bytes"]:
        return {"missing": "its files did not leave the page cache: it keeps them mapped between epochs"}
    return run if url is None else {**run, "link": link.ask("counters")}


def drop_from_page_cache(folder: Path) -> None:
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def summary(runs: list[dict[str, Any]], store: Store) -> dict[str, Any]:
    """Medians over the rounds, with the range of the rates; what cannot be known is left out."""

    def median(values: list[float], digits: int = 1) -> float:
        return round(statistics.median(values), digits)

    rates = sorted(run["images"] / run["seconds"] for run in runs)
    first = sorted(run["first_batch_seconds"] for run in runs)
    result = {
        "images": runs[0]["images"],
        "rounds": len(runs),
        "per_second": median(rates),
        "per_second_range": [round(rates[0], 1), round(rates[-1], 1)],
        "cpu_seconds_per_1000": median([1000 * run["cpu_seconds"] / run["images"] for run in runs], 3),
        "first_batch_seconds": median(first, 3),
        "first_batch_seconds_range": [round(first[0], 3), round(first[-1], 3)],
        "wait_p50_ms": median([1000 * run["wait_p50"] for run in runs], 2),
        "wait_p99_ms": median([1000 * run["wait_p99"] for run in runs], 2),
        "peak_memory_mb": median([run["peak_memory"] / 1e6 for run in runs]),
    }
    if store.bandwidth is not None:
        result["bytes_per_image"] = median([run["link"]["bytes"] / run["images"] for run in runs])
        result["requests"] = median([run["link"]["requests"] for run in runs], 0)
    elif store.cold:
        result["bytes_per_image"] = median([run["device_bytes"] / run["images"] for run in runs])
    return result


def save(
    options: argparse.Namespace, photos: dict[str, int], peers: dict[str, Any], arms: Sequence[Arm]
) -> None:
    document = {
        "benchmark": "loaders",
        "photos": {"source": options.source, **photos},
        "rounds": options.rounds,
        "batch": options.batch,
        "workers": options.workers,
        "output": "uint8 (B, 3, 224, 224), random resized crop, flip",
        "machine": machine(),
        "peers": peers,
        "arms": {arm.name: arm.peer for arm in arms},
        "results": {store: results(store, arms) for store in options.stores},
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{options.name}.json").write_text(json.dumps(document, indent=2) + "\n")


def results(store: str, arms: Sequence[Arm]) -> dict[str, Any]:
    found = {}
    for arm in arms:
        if store in arm.missing:
            found[arm.name] = {"missing": arm.missing[store]}
        elif store in arm.runs:
            found[arm.name] = summary(arm.runs[store], STORES[store])
    return found


if __name__ == "__main__":
    main()
