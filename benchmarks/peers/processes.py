"""What a process and all its descendants cost: CPU seconds and memory."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

__all__ = ["cpu_seconds", "device_bytes", "memory"]


def cpu_seconds(root: int) -> float:
    """User and system time of a process, of its descendants, and of those that ended and were waited for."""
    ticks = sum(sum(map(int, _stat(process)[11:15])) for process in _tree(root))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(root: int) -> int:
    """Bytes of memory of a process and its descendants; a page that n of them share counts once."""
    total = 0
    for process in _tree(root):
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue  # it has ended
        total += next((int(x.split()[1]) for x in text.splitlines() if x.startswith("Pss:")), 0) * 1024
    return total


def device_bytes() -> int:
    """Bytes that this process, and children that have ended, caused to be read from a disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def _tree(root: int) -> list[int]:
    """A process and its descendants."""
    children = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children[int(fields[1])].append(int(entry.name))
    found = [root]
    for process in found:
        found += children[process]
    return found


def _stat(process: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on; none if it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
