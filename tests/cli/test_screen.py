from __future__ import annotations

import pytest

from halfbyte.cli.screen import print_error, print_fields, print_json, print_table, print_text, printable


def test_control_characters_are_shown_not_sent() -> None:
    assert printable("plain 猫.jpg") == "plain 猫.jpg"
    assert printable("a\x1b[2Jb\nc\u202e") == "a\\x1b[2Jb\\nc\\u202e"


def test_markup_in_names_stays_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields({"class": "[bold]cat[/bold] :cat:"})
    print_table([("name", "left"), ("n", "right")], [["[red]x", "1"], ["y", "22"]])
    out = capsys.readouterr().out
    assert "[bold]cat[/bold] :cat:" in out
    assert "[red]x" in out


def test_nothing_is_folded_or_padded_in_pipes(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("word " * 100)
    print_table([("name", "left"), ("n", "left")], [["a" * 300, "1"], ["b", "2"]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert all(line == line.rstrip() for line in lines)


def test_an_error_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("first\nsecond \x1b[31m")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: first second \\x1b[31m\n")


def test_json_is_indented_and_readable(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "猫", "classes": ("a",)})
    assert capsys.readouterr().out == '{\n  "name": "猫",\n  "classes": [\n    "a"\n  ]\n}\n'
