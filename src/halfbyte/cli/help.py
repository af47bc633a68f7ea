"""How ``--help`` is laid out, whatever typer's release does with line breaks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from typer.core import TyperCommand

__all__ = ["Command", "add_section", "help_text", "sections_after"]

# By command: titles and lines that follow its help as they are.
_SECTIONS: dict[str, list[tuple[str, Sequence[str]]]] = {}


def add_section(command: str, title: str, lines: Sequence[str]) -> None:
    """Let lines follow the help of a command ("halfbyte" for the help of all)."""
    _SECTIONS.setdefault(command, []).append((title, lines))


def sections_after(command: str) -> str:
    """The sections of a command as text."""
    parts = []
    for title, lines in _SECTIONS.get(command, []):
        parts.append(f" {title}:\n" + "".join(f"   {line}\n" for line in lines))
    return "\n".join(parts)


def help_text(function: Callable[..., Any]) -> str:
    """A docstring as paragraphs of one line each, to be folded to the width of the terminal."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


class Command(TyperCommand):
    """A command whose help ends with examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        formatter.write(sections_after(self.name or ""))
