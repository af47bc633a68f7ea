"""``halfbyte extract``: back to image files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halfbyte.cli.failures import FOUND
from halfbyte.cli.options import DatasetPath, Debug, Json, Quiet
from halfbyte.cli.progress import progress_bar
from halfbyte.cli.screen import print_json, print_lines, print_text, printable
from halfbyte.cli.sizes import format_bytes, format_count

if TYPE_CHECKING:
    from halfbyte.records.extract import ExtractReport

__all__ = ["extract"]

_MOST_LINES = 100


def extract(
    path: DatasetPath,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the files; new or empty.")],
    *,
    fidelity: Annotated[
        int | None, typer.Option("--fidelity", "-f", help="Fidelity of the files; full if left out.")
    ] = None,
    original: Annotated[
        bool,
        typer.Option(
            "--original", help="Give JPEGs their EXIF, ICC and other metadata back (full fidelity)."
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the samples as image files into folders as they were before conversion.

    JPEGs come out progressive, with the very pixels of the source at full fidelity; other files as they came.
    Fields that the folders do not tell go to metadata.jsonl. Exit code 1 if damaged samples were left out.
    """
    from halfbyte.records.extract import extract as extract_dataset

    with progress_bar("extracting", quiet=quiet) as progress:
        report = extract_dataset(path, out, fidelity=fidelity, original=original, progress=progress)
    if json:
        print_json({"ok": not report.failed, **asdict(report)})
    else:
        _print_report(report)
    if report.failed:
        raise typer.Exit(FOUND)


def _print_report(report: ExtractReport) -> None:
    print_lines(
        [f"renamed: {printable(key)} is {printable(name)}" for key, name in report.renamed[:_MOST_LINES]]
    )
    print_lines([f"damaged: {printable(key)}: {printable(why)}" for key, why in report.failed[:_MOST_LINES]])
    longest = max(len(report.renamed), len(report.failed))
    if longest > _MOST_LINES:
        print_lines(["… and more: --json lists all"])
    what = "with their own metadata" if report.original else f"at fidelity {report.fidelity}"
    print_text(
        f"{report.out}: {format_count(report.num_files, 'file')} {what}, {format_bytes(report.bytes_written)}"
        + (", and metadata.jsonl with their fields" if report.metadata else "")
    )
    if report.failed:
        print_text(f"left out: {format_count(len(report.failed), 'damaged sample')}", style="red")
