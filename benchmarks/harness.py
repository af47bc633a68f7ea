"""What every benchmark shares: arms run in turn, medians with spread, and a record of where it ran."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import halfbyte
from halfbyte import _native

RESULTS = Path(__file__).parent / "results"
QUICK = "quick_"  # what names of files with the results of quick runs begin with: a look, never kept


@dataclass(frozen=True)
class Arm:
    """One thing to measure: ``run()`` does ``units`` of work."""

    name: str
    units: float
    run: Callable[[], object]


def measure(arms: Sequence[Arm], *, repeats: int = 5) -> dict[str, dict[str, Any]]:
    """Run all arms in turn, ``repeats`` times after one warm-up: units a second, wall and CPU."""
    walls: dict[str, list[float]] = {arm.name: [] for arm in arms}
    cpus: dict[str, list[float]] = {arm.name: [] for arm in arms}
    for repeat in range(repeats + 1):
        for arm in arms:
            wall, cpu = time.perf_counter(), cpu_seconds()
            arm.run()
            if repeat:
                walls[arm.name].append(time.perf_counter() - wall)
                cpus[arm.name].append(cpu_seconds() - cpu)
    return {arm.name: summary(arm.units, walls[arm.name], cpus[arm.name]) for arm in arms}


def cpu_seconds() -> float:
    """User and system time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def summary(units: float, walls: list[float], cpus: list[float]) -> dict[str, Any]:
    """Median and range of units a second, and CPU seconds a thousand units."""
    rates = sorted(units / wall for wall in walls)
    return {
        "per_second": round(statistics.median(rates), 1),
        "per_second_range": [round(rates[0], 1), round(rates[-1], 1)],
        "cpu_seconds_per_1000": round(1000 * statistics.median(cpus) / units, 4),
        "repeats": len(walls),
    }


def machine() -> dict[str, Any]:
    """Where and with what it ran."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "libjpeg": _native.libjpeg_version(),
        "halfbyte": halfbyte.__version__,
        "commit": commit,
        "packages": {name: version(name) for name in ("torch", "pillow", "simplejpeg", "numpy")},
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def photos(parser_description: str) -> tuple[list[Path], argparse.Namespace]:
    """The photos that the command line names, and its other options."""
    parser = argparse.ArgumentParser(description=parser_description)
    parser.add_argument("--photos", type=Path, required=True, help="a folder of JPEG photographs")
    parser.add_argument("--source", default="unnamed photographs", help="what they are, for the results file")
    parser.add_argument("--count", type=int, default=300, help="how many of them to use")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    found = sorted(p for p in options.photos.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    step = max(1, len(found) // options.count)
    return found[::step][: options.count], options


def save(name: str, options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Write results/NAME.json and print it."""
    document = {
        "benchmark": name,
        "photos": options.source,
        "repeats": options.repeats,
        "machine": machine(),
        "results": results,
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(document, indent=2)
    (RESULTS / f"{name}.json").write_text(text + "\n")
    print(text)
