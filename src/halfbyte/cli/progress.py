"""A progress bar on stderr, if there is a person to see it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["progress_bar"]


class _Progress(Protocol):
    @property
    def done_bytes(self) -> int: ...
    @property
    def total_bytes(self) -> int: ...


@contextmanager
def progress_bar(label: str, *, quiet: bool = False) -> Iterator[Callable[[_Progress], None] | None]:
    """Draw what the callback is told; yields None where stderr is no terminal or ``quiet`` is set.

    Args:
        label: what is being done, such as "verifying".
        quiet: draw nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=24),
        progress.TaskProgressColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(compact=True),
    )
    with progress.Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(label, total=None)

        def show(at: _Progress) -> None:
            over = at.done_bytes >= at.total_bytes > 0
            bar.update(
                task,
                completed=at.done_bytes,
                total=at.total_bytes or None,
                description="finishing" if over else label,
            )

        yield show
