"""A peer's process, as the benchmark sees it: asked one thing at a time, watched, and ended for certain."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.processes import memory

__all__ = ["Child", "PeerError"]

_BENCHMARKS = Path(__file__).parent.parent
_LOOK_SECONDS = 0.25


class PeerError(Exception):
    """A peer failed, ended or did not answer in time; the text says why."""


class Child:
    """A process of its own session, so that all it starts can be ended with it.

    Args:
        command: ``python -m ...``, run in benchmarks/.
        log: where its standard error goes.
    """

    def __init__(self, command: Sequence[str | Path], log: Path) -> None:
        self._log = log
        with open(log, "ab") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=_BENCHMARKS,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"},
            )
        self._begun = b""

    def ask(self, request: dict[str, Any], *, timeout: float) -> dict[str, Any]:
        """Send a request; return the answer, and under ``peak_memory`` the most memory that was seen.

        Raises:
            PeerError: there was no answer, or it was an error.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise PeerError(self._ended()) from None
        line, peak = self.read_line(timeout=timeout)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return {**answer, "peak_memory": peak}

    def read_line(self, *, timeout: float) -> tuple[bytes, int]:
        """The next line that it prints, and the most memory that it had until then."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + timeout
        peak = 0
        while b"\n" not in self._begun:
            if time.monotonic() > deadline:
                raise PeerError(f"no answer in {timeout:.0f} s; see {self._log.name}")
            if select.select([descriptor], [], [], _LOOK_SECONDS)[0]:
                piece = os.read(descriptor, 1 << 16)
                if not piece:
                    raise PeerError(self._ended())
                self._begun += piece
            else:
                peak = max(peak, memory(self._process.pid))
        line, _, self._begun = self._begun.partition(b"\n")
        return line, peak

    def end(self) -> None:
        """Kill it and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _ended(self) -> str:
        code = self._process.wait()
        said = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return f"ended with {code}: {' / '.join(said[-2:]) or 'it said nothing'}"
