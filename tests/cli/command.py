"""Commands run in this process."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from halfbyte.cli.main import app


class Run:
    """``run("info", path)`` is ``halfbyte info path``; the exit code is checked."""

    def __call__(self, *arguments: object, code: int = 0) -> Any:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        return result

    def json(self, *arguments: object, code: int = 0) -> Any:
        """The document of a command with ``--json``."""
        return json.loads(self(*arguments, "--json", code=code).stdout)

    def error(self, *arguments: object) -> str:
        """The one line on stderr of a command that cannot be done."""
        result = self(*arguments, code=3)
        assert result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert line.startswith("error: ")
        return str(line)
