from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command import Run

import halfbyte.records.verify
from halfbyte.errors import NotADataset

CODE = "import sys; from halfbyte.cli.main import main; main(sys.argv[1:])"


def test_a_typo_is_a_usage_error_with_a_hint(run: Run) -> None:
    assert "verify" in run("verfy", "x", code=2).stderr
    assert "No such option" in run("info", "x", "--jsn", code=2).stderr
    assert "Missing argument" in run("info", code=2).stderr


def test_traceback_is_shown_on_request(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Traceback" not in run("info", tmp_path, code=3).stderr
    assert "Traceback" in run("info", tmp_path, "--debug", code=3).stderr
    monkeypatch.setenv("HALFBYTE_TRACEBACK", "1")
    assert "Traceback" in run("info", tmp_path, code=3).stderr


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(halfbyte.records.verify, "verify", fail)


def test_errors_of_the_system_name_the_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, PermissionError(13, "Permission denied", "/some/file"))
    assert run.error("verify", "x") == "error: /some/file: Permission denied"


def test_our_errors_are_shown_as_they_are(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, NotADataset("x: not here; look elsewhere"))
    assert run.error("verify", "x") == "error: x: not here; look elsewhere"


def test_a_bug_shows_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, ZeroDivisionError("division by zero"))
    stderr = run("verify", "x", code=70).stderr
    assert "Traceback" in stderr
    assert "error: this is a bug in halfbyte (ZeroDivisionError)" in stderr


@pytest.mark.parametrize(("command", "rest"), [("verify", ""), ("extract", "; what was written is removed")])
def test_ctrl_c_is_one_line(run: Run, command: str, rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"halfbyte.records.{command}.{command}", interrupt)
    arguments = ["x", "out"] if command == "extract" else ["x"]
    assert run(command, *arguments, code=130).stderr == f"interrupted{rest}\n"


def test_a_closed_pipe_ends_quietly(dataset: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", CODE, "ls", str(dataset)]
    with os.fdopen(write, "wb") as pipe:
        result = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (result.returncode, result.stderr) == (141, b"")


def test_sigint_leaves_no_half_done_extraction(dataset_path: Path, tmp_path: Path) -> None:
    slow = (
        "import time; from halfbyte.records import output_folder as o; w = o.OutputFolder.write\n"
        "def write(self, *a):\n    print('writing', flush=True); time.sleep(0.2); return w(self, *a)\n"
        "o.OutputFolder.write = write\n"
    )
    command = [sys.executable, "-c", slow + CODE, "extract", str(dataset_path), str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert (process.returncode, stderr) == (130, b"interrupted; what was written is removed\n")
    assert not re.search(".", "".join(os.listdir(tmp_path)))
