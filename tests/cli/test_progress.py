from __future__ import annotations

import io
import sys

import pytest

from halfbyte.cli.progress import progress_bar
from halfbyte.records.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_drawn_in_pipes(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("working") as progress:
        assert progress is None
    assert capsys.readouterr() == ("", "")


def test_nothing_is_drawn_when_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar("working", quiet=True) as progress:
        assert progress is None
    assert sys.stderr.getvalue() == ""


def test_a_bar_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar("working") as progress:
        assert progress is not None
        progress(Progress(5_000_000, 20_000_000, 1, 4))
    drawn = sys.stderr.getvalue()
    assert "working" in drawn
    assert "25%" in drawn
    assert "5.0/20.0 MB" in drawn
