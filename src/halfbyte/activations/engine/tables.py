"""Tables as plain text."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table

__all__ = ["new_table", "render"]

# Wide enough that rich folds cells only where a column says so.
_WIDTH = 400


def new_table() -> Table:
    """An empty table, in the style of all reports."""
    return Table(box=box.SIMPLE, show_edge=False, pad_edge=False)


def render(table: Table) -> list[str]:
    """Lines of plain text: what goes to files and notebooks must hold no colour codes."""
    out = io.StringIO()
    # Names of modules are data: neither markup nor emoji codes.
    console = Console(file=out, width=_WIDTH, color_system=None, markup=False, emoji=False, highlight=False)
    console.print(table)
    return [line.rstrip() for line in out.getvalue().rstrip().splitlines()]
