"""The pool: the same pixels from any number of threads, from several callers at once, and after fork."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from decoding import decode
from halfbyte import _native
from photos import jpeg, photo

SIZES = [(40 + 7 * i, 90 - 3 * i) for i in range(12)]
FILES = [jpeg(photo(i, width=w, height=h), progressive=bool(i % 2)) for i, (w, h) in enumerate(SIZES)]
BROKEN = 5


def decoded(pool: _native.Pool) -> tuple[np.ndarray, list[tuple[int, str, str]]]:
    """A batch in which one sample is damaged."""
    out = np.full((len(FILES), 3, 33, 29), 1, np.uint8)
    samples = [[data[: len(data) // 2] if i == BROKEN else data] for i, data in enumerate(FILES)]
    return out, decode(samples, SIZES, out, pool=pool)


def pool_threads() -> list[Path]:
    """The folders in /proc of the pool's own threads."""
    tasks = Path("/proc/self/task").iterdir()
    return [task for task in tasks if (task / "comm").read_text() == "halfbyte-pool\n"]


def eventually(condition: Callable[[], bool]) -> bool:
    """The kernel takes a moment to start a thread, and to forget one that was joined."""
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def blocked_signals(thread: Path) -> set[int]:
    """The signals of interest that a thread does not take."""
    status = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines())
    mask = int(status["SigBlk"], 16)
    return {one for one in (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV) if mask >> (one - 1) & 1}


def test_pixels_do_not_depend_on_the_number_of_threads() -> None:
    expected, failures = decoded(_native.Pool(1))
    assert [index for index, _, _ in failures] == [BROKEN]
    for count in (2, 5, 40):
        pool = _native.Pool(count)
        for _ in range(5):
            out, failed = decoded(pool)
            assert np.array_equal(out, expected)
            assert failed == failures


def test_threads_start_when_needed_and_end_with_the_pool() -> None:
    decoded(_native.Pool(1))
    pool = _native.Pool(4)
    assert pool_threads() == []
    decoded(pool)
    assert len(pool_threads()) == 3
    del pool
    assert eventually(lambda: pool_threads() == [])


def test_threads_leave_signals_to_python() -> None:
    pool = _native.Pool(3)
    decoded(pool)
    expected = {signal.SIGINT, signal.SIGTERM}
    for thread in pool_threads():
        assert eventually(lambda thread=thread: blocked_signals(thread) == expected)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_several_threads_share_a_pool() -> None:
    pool = _native.Pool(3)
    expected, _ = decoded(pool)
    results: list[np.ndarray] = []
    callers = [
        threading.Thread(target=lambda: results.extend(decoded(pool)[0] for _ in range(10))) for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(results) == 40
    assert all(np.array_equal(result, expected) for result in results)


def test_a_child_of_fork_gets_threads_of_its_own() -> None:
    # In an interpreter of its own: from 3.12 on, fork warns when there are threads.
    code = """
import os, sys
from test_pool import _native, decoded
pool = _native.Pool(3)
expected, failures = decoded(pool)
for _ in range(3):
    child = os.fork()
    if child == 0:
        out, failed = decoded(pool)
        same = (out == expected).all() and failed == failures and len(os.listdir("/proc/self/task")) == 3
        del pool
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
assert (decoded(pool)[0] == expected).all()
"""
    folders = [str(Path(__file__).parent), str(Path(__file__).parent.parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "PYTHONWARNINGS": "ignore"}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr.decode()


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_wrong_numbers_of_threads_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"num_threads is {count}, expected 1 to 1024"):
        _native.Pool(count)


def test_a_pool_says_what_it_is() -> None:
    assert repr(_native.Pool(3)) == "Pool(num_threads=3)"
    assert _native.Pool(3).num_threads == 3
