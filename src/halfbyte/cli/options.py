"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from halfbyte.cli.failures import DEBUG_KEY
from halfbyte.cli.sizes import parse_size

__all__ = ["DatasetPath", "Debug", "Json", "Quiet", "check_seed", "rate_option", "size_option"]

# What a record may be asked to hold, and more than any link carries in a second.
_LARGEST_BYTES = 64 << 30


def _note_debug(ctx: typer.Context, value: bool) -> bool:
    ctx.meta[DEBUG_KEY] = value
    return value


DatasetPath = Annotated[
    Path, typer.Argument(metavar="PATH", help="Folder of a data set that `convert` made.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document to stdout and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Draw no progress bar.")]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", callback=_note_debug, help="Show the traceback of an error (also: HALFBYTE_TRACEBACK=1)."
    ),
]


def size_option(text: str) -> int:
    """A size on the command line; BadParameter says what is wrong."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if size > _LARGEST_BYTES:
        raise typer.BadParameter(f"{text!r} is more than 64GiB; give a smaller size")
    return size


def rate_option(text: str) -> int:
    """Bytes a second on the command line: a size, with or without ``/s``."""
    return size_option(text.strip().removesuffix("/s"))


def check_seed(seed: int) -> int:
    """A seed on the command line; a range in the help would show all digits of the limit."""
    if seed >= 1 << 64:
        raise typer.BadParameter(f"{seed} is no seed; give a number below 2**64")
    return seed
