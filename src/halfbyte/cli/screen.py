"""What goes to stdout and stderr: results as text or JSON, one line an error."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

__all__ = [
    "print_error",
    "print_fields",
    "print_json",
    "print_lines",
    "print_table",
    "print_text",
    "printable",
]

# Wide enough that nothing is folded or cut where no terminal limits the width.
_PIPED_WIDTH = 4096


def _write(what: RenderableType, style: str | None = None) -> None:
    """Render for stdout; without the spaces that fill up lines."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    # Names of files and classes are data: neither markup nor emoji codes nor numbers to colour.
    console = Console(file=sys.stdout, width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(what, style=style)
    print_lines([line.rstrip() for line in capture.get().splitlines()])


def printable(text: str) -> str:
    """The text without control characters, which could move the cursor or hide things on a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")


def print_text(text: str = "", style: str | None = None) -> None:
    """A paragraph on stdout, folded to the terminal."""
    _write("\n".join(map(printable, text.split("\n"))), style)


def print_lines(lines: Sequence[str]) -> None:
    """Lines to be copied, never folded: commands to type."""
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def print_fields(fields: dict[str, str]) -> None:
    """Names and values, a line each."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in fields.items():
        table.add_row(name, printable(value))
    _write(table)


def print_table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> None:
    """A table.

    Args:
        columns: (header, "left" or "right").
        rows: as many cells each.
    """
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, header_style="bold")
    for header, side in columns:
        table.add_column(header, justify="right" if side == "right" else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(printable, row))
    _write(table)


def print_error(message: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"error: {printable(' '.join(message.split()))}\n")
