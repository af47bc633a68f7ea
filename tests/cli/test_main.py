from __future__ import annotations

import subprocess
import sys

import pytest
from command import Run

import halfbyte
from halfbyte.cli.failures import EXIT_CODES
from halfbyte.cli.main import main

COMMANDS = ["convert", "info", "ls", "verify", "extract", "bench", "demo"]


def test_version_is_printed(run: Run) -> None:
    assert run("--version").stdout == f"halfbyte {halfbyte.__version__}\n"


def test_help_lists_commands_examples_and_exit_codes(run: Run) -> None:
    text = run("--help").stdout
    assert all(command in text for command in COMMANDS)
    assert "   halfbyte convert photos/ photos.halfbyte/\n" in text
    assert all(f"{code:>3}  {meaning}\n" in text for code, meaning in EXIT_CODES.items())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples(run: Run, command: str) -> None:
    text = run(command, "--help").stdout
    assert f"   halfbyte {command}" in text
    assert "--json" in text
    assert run(command, "-h").stdout == text


def test_help_keeps_to_the_width_of_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for command in COMMANDS:
        assert max(map(len, run(command, "--help").stdout.splitlines())) <= 80


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from halfbyte.cli.main import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n"
        "    heavy = {'torch', 'pyarrow', 'numpy', 'PIL', 'skimage', 'halfbyte._native'}\n"
        "    sys.exit(str(sorted(heavy & set(sys.modules))))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stderr == "[]\n"


def test_arguments_of_the_process_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["halfbyte", "--version"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
