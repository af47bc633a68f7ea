from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from halfbyte.conversion.lock import hold
from halfbyte.errors import ConvertError


def test_lock_is_held_once_and_released(tmp_path: Path) -> None:
    path = tmp_path / ".convert" / "lock"
    with (
        hold(path),
        pytest.raises(ConvertError, match=r"another conversion is writing here .* wait until"),
        hold(path),
    ):
        pass
    with hold(path):
        pass


def test_lock_of_another_process_is_seen_and_dies_with_it(tmp_path: Path) -> None:
    path = tmp_path / ".convert" / "lock"
    code = (
        "import sys, pathlib\nfrom halfbyte.conversion.lock import hold\n"
        "with hold(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(ConvertError, match="another conversion is writing here"), hold(path):
            pass
        process.kill()
    with hold(path):
        pass


def test_lock_file_that_was_removed_locks_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".convert" / "lock"
    with hold(path):
        shutil.rmtree(path.parent)
        with hold(path):
            assert path.exists()
