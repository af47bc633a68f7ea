"""Fuzz the reading of records: python tests/fuzz/fuzz_record.py header|table|dataset --seconds 600 --seed 1

Every case must end within five seconds and a cap of memory, with a result or an error of halfbyte. The cases
run in a child process, so that one that crashes or hangs is caught too: it is made again from its number and
kept in a file. A kept file is run alone with --file.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]

import pyarrow as pa  # noqa: E402
from targets import TARGETS, Target  # noqa: E402

from halfbyte.errors import HalfbyteError  # noqa: E402

SECONDS_A_CASE = 5
# Above what the process has before the first case; the largest input is some 100 kB.
EXTRA_MEMORY_BYTES = 256 << 20


def make_case(target: Target, seed: int, number: int) -> bytes:
    """The input of one case; the same for the same seed and number."""
    return target.make(random.Random(f"{seed} {number}"))


def run_case(target: Target, data: bytes) -> str:
    """How reading the input ended. Raises what must not come out."""
    try:
        target.run(data)
    except HalfbyteError as error:
        return type(error).__name__
    return "complete"


def limit_memory() -> None:
    # The pools of jemalloc and mimalloc reserve far more than they use.
    pa.set_memory_pool(pa.system_memory_pool())
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + EXTRA_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run_child(target: Target, *, seed: int, seconds: float, cases: int, at: mmap.mmap) -> None:
    """Run cases until the time or their number is over; the number of the present one stands in ``at``."""
    limit_memory()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, even inside of C code
    outcomes: Counter[str] = Counter()
    began, number = time.monotonic(), 0
    while number < cases and time.monotonic() - began < seconds:
        at[:8] = number.to_bytes(8, "little")
        data = make_case(target, seed, number)
        signal.setitimer(signal.ITIMER_REAL, SECONDS_A_CASE)
        outcomes[run_case(target, data)] += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        number += 1
    rate = number / (time.monotonic() - began)
    summary = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
    print(f"{number} cases, {rate:.0f} a second: {summary}", flush=True)


def fuzz(name: str, *, seed: int, seconds: float, cases: int, keep: Path) -> int:
    """Fuzz one target; 0 if nothing was found, otherwise the input is kept and named."""
    target = TARGETS[name]
    at = mmap.mmap(-1, 8)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            run_child(target, seed=seed, seconds=seconds, cases=cases, at=at)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 0:
        return 0
    number = int.from_bytes(at[:8], "little")
    keep.mkdir(parents=True, exist_ok=True)
    path = keep / f"{name}-{seed}-{number}.bin"
    path.write_bytes(make_case(target, seed, number))
    how = "hung" if status == -signal.SIGALRM else f"ended with status {status}"
    print(f"{name}: case {number} of seed {seed} {how}; its input is in {path}", file=sys.stderr)
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="stop after so many")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for inputs that fail")
    parser.add_argument("--file", type=Path, help="run this input alone")
    options = parser.parse_args()
    if options.file:
        print(run_case(TARGETS[options.target], options.file.read_bytes()))
        return 0
    return fuzz(
        options.target, seed=options.seed, seconds=options.seconds, cases=options.cases, keep=options.keep
    )


if __name__ == "__main__":
    sys.exit(main())
