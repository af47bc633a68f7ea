"""The ``halfbyte`` command."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from halfbyte import __version__
from halfbyte.cli.bench import bench
from halfbyte.cli.convert import convert
from halfbyte.cli.demo import demo
from halfbyte.cli.extract import extract
from halfbyte.cli.failures import EXIT_CODES, Commands
from halfbyte.cli.help import Command, add_section, help_text
from halfbyte.cli.info import info
from halfbyte.cli.ls import ls
from halfbyte.cli.verify import verify

__all__ = ["app", "main"]

_COMMANDS: tuple[tuple[Callable[..., None], tuple[str, ...]], ...] = (
    (
        convert,
        (
            "halfbyte convert photos/ photos.halfbyte/",
            "halfbyte convert list.csv out/ --record-size 8MiB --scan-script spectral",
            "halfbyte convert photos/ out/ --encode-other 92 --on-error fail --json",
        ),
    ),
    (info, ("halfbyte info photos.halfbyte/", "halfbyte info photos.halfbyte/ --json")),
    (
        ls,
        (
            "halfbyte ls photos.halfbyte/ --limit 20",
            "halfbyte ls photos.halfbyte/ -f 1 -f 5 -f 10 --start 1000 --limit 5",
        ),
    ),
    (
        verify,
        (
            "halfbyte verify photos.halfbyte/",
            "halfbyte verify photos.halfbyte/ --no-decode --json",
            "halfbyte verify photos.halfbyte/ --every-fidelity",
        ),
    ),
    (
        extract,
        (
            "halfbyte extract photos.halfbyte/ photos-again/ --original",
            "halfbyte extract photos.halfbyte/ small/ --fidelity 5",
        ),
    ),
    (
        bench,
        (
            "halfbyte bench photos.halfbyte/",
            "halfbyte bench photos.halfbyte/ --step-ms 180 --batch-size 256",
            "halfbyte bench photos.halfbyte/ --bandwidth 10MB/s --json",
        ),
    ),
    (
        demo,
        (
            "halfbyte demo",
            "halfbyte demo --data photos/ --keep trial/",
            "halfbyte demo --bandwidth 4MB/s --epochs 2",
        ),
    ),
)

app = typer.Typer(
    name="halfbyte",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        sys.stdout.write(f"halfbyte {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train on half the bytes: image data sets as progressive records, read at any fidelity."""


for _function, _examples in _COMMANDS:
    app.command(cls=Command, help=help_text(_function))(_function)
    add_section(_function.__name__, "Examples", _examples)
add_section("halfbyte", "Examples", [_examples[0] for _, _examples in _COMMANDS])
add_section("halfbyte", "Exit codes", [f"{code:>3}  {text}" for code, text in EXIT_CODES.items()])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends with SystemExit.

    Args:
        arguments: after the name of the command; None for those of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names that are no UTF-8 are shown escaped rather than ending the command.
            stream.reconfigure(errors="backslashreplace")
    app(args=arguments, prog_name="halfbyte")
