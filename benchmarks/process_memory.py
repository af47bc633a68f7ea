"""What this process holds, and what another one holds that runs the same script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MIB = 2**20


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def sampled_peak(result: dict[str, int]) -> Iterator[None]:
    """Put the most that is resident meanwhile under "peak"."""
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            result["peak"] = max(result.get("peak", 0), resident_bytes())
            time.sleep(0.0005)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def elsewhere(script: str, *arguments: str) -> dict[str, Any]:
    """The JSON object that a script prints last, run in a process of its own, whose allocator gives freed
    memory back at once.
    """
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, script, *arguments]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result
