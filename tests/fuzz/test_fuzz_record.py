"""A short run of every target, and the harness against targets that misbehave."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import fuzz_record
import pytest
from targets import TARGETS, Target

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
SCRIPT = Path(fuzz_record.__file__)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("target", TARGETS)
def test_a_short_run_finds_nothing(target: str, tmp_path: Path) -> None:
    result = run(target, "--cases", "300", "--seconds", "60", "--seed", "1", "--keep", str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("300 cases, ")
    assert " complete" in result.stdout  # the mutations leave something to read
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_case_is_a_function_of_its_number(target: str) -> None:
    cases = [[fuzz_record.make_case(TARGETS[target], 7, number) for number in range(5)] for _ in range(2)]
    assert cases[0] == cases[1]
    assert len(set(cases[0])) > 1


def hang() -> None:
    time.sleep(60)


def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def gorge() -> None:
    bytearray(1 << 30)


def fail() -> None:
    raise KeyError("not one of ours")


@pytest.mark.parametrize(
    ("misbehave", "said"),
    [(hang, "hung"), (crash, "status -9"), (gorge, "status 1"), (fail, "status 1")],
)
def test_what_must_not_happen_is_kept(
    misbehave: Callable[[], None],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def read(data: bytes) -> None:
        if data[0] > 200:
            misbehave()

    monkeypatch.setitem(TARGETS, "bad", Target(lambda rng: rng.randbytes(4), read))
    monkeypatch.setattr(fuzz_record, "SECONDS_A_CASE", 0.2)
    assert fuzz_record.fuzz("bad", seed=3, seconds=30, cases=1000, keep=tmp_path) == 1
    (path,) = tmp_path.iterdir()
    number = int(path.stem.split("-")[2])
    assert path.read_bytes() == random.Random(f"3 {number}").randbytes(4)
    assert path.read_bytes()[0] > 200
    assert re.search(
        f"bad: case {number} of seed 3 .*{said}; its input is in {path}", capsys.readouterr().err
    )


def test_a_kept_file_is_run_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"\x89PC")
    assert run("header", "--file", str(path)).stdout == "NeedMoreBytes\n"
