"""Runs one peer in its own environment: a JSON object a line in, a JSON object a line out.

    python -m peers.serve NAME

    {"do": "describe"}                                → {"arms": [...], "link": "...", "versions": {...}}
    {"do": "prepare", "photos": ..., "out": ...}      → {"seconds": ...}
    {"do": "epoch", "arm": ..., "task": {...}}        → {"images": ..., "seconds": ..., ...}

An error is answered too: {"error": "..."}, or {"missing": "..."} where the peer says that it cannot do this.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import shutil
import statistics
import sys
import time
import traceback
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from peers.environments import requirements
from peers.processes import cpu_seconds, device_bytes
from peers.task import SIZE, Task

_LONGEST_ERROR = 400  # the whole is in the log


def describe(peer: ModuleType) -> dict[str, Any]:
    versions = {"python": platform.python_version()}
    for name in requirements(Path(peer.__file__ or "")):
        versions[name] = version(name)
    return {"arms": list(peer.ARMS), "link": peer.LINK, "versions": versions}


def prepare(peer: ModuleType, photos: str, out: str) -> dict[str, Any]:
    started, cpu = time.perf_counter(), cpu_seconds(os.getpid())
    peer.prepare(Path(photos), Path(out))
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": cpu_seconds(os.getpid()) - cpu,
    }


def epoch(peer: ModuleType, arm: str, task: dict[str, Any]) -> dict[str, Any]:
    paths = {name: Path(task[name]) for name in ("photos", "folder", "scratch")}
    shutil.rmtree(paths["scratch"], ignore_errors=True)
    paths["scratch"].mkdir(parents=True)
    cpu, device = cpu_seconds(os.getpid()), device_bytes()
    result = consume(peer.epoch(Task(**{**task, **paths}), **peer.ARMS[arm]))
    result["cpu_seconds"] = cpu_seconds(os.getpid()) - cpu
    result["device_bytes"] = device_bytes() - device
    shutil.rmtree(paths["scratch"], ignore_errors=True)
    return result


def consume(batches: Iterator[Any]) -> dict[str, Any]:
    """Take all batches as fast as they come, and look at each: it must be what was asked for."""
    images, waits = 0, []
    started = last = time.perf_counter()
    for batch in batches:
        check(batch, first=not waits)
        images += len(batch)
        now = time.perf_counter()
        waits.append(now - last)
        last = now
    later = waits[1:] or waits
    return {
        "images": images,
        "seconds": last - started,
        "first_batch_seconds": waits[0],
        "wait_p50": statistics.median(later),
        "wait_p99": sorted(later)[min(len(later) - 1, round(0.99 * (len(later) - 1)))],
    }


def check(batch: Any, *, first: bool) -> None:
    got = f"{str(batch.dtype).removeprefix('torch.')} {tuple(batch.shape)}"
    if not got.startswith("uint8") or tuple(batch.shape[1:]) != (3, SIZE, SIZE):
        raise ValueError(f"a batch is {got}, expected uint8 (B, 3, {SIZE}, {SIZE})")
    if first and batch[0].min() == batch[0].max():
        raise ValueError("the first image is of one colour")


def answer(peer: ModuleType, request: dict[str, Any]) -> dict[str, Any]:
    actions = {"describe": describe, "prepare": prepare, "epoch": epoch}
    try:
        return actions[request.pop("do")](peer, **request)
    except NotImplementedError as error:
        return {"missing": str(error)}
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"[:_LONGEST_ERROR]}


def main() -> None:
    # What packages print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    peer = importlib.import_module(f"peers.{sys.argv[1]}")
    for line in sys.stdin:
        print(json.dumps(answer(peer, json.loads(line))), file=answers)


if __name__ == "__main__":
    main()
