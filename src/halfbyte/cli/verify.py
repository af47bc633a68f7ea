"""``halfbyte verify``: is a data set whole?"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfbyte.cli.failures import FOUND
from halfbyte.cli.options import DatasetPath, Debug, Json, Quiet
from halfbyte.cli.progress import progress_bar
from halfbyte.cli.screen import print_json, print_lines, print_text, printable
from halfbyte.cli.sizes import format_bytes, format_count, format_duration, format_rate

if TYPE_CHECKING:
    from halfbyte.records.verify import Finding, VerifyReport

__all__ = ["verify"]

_MOST_LINES = 100


def verify(
    path: DatasetPath,
    *,
    decode: Annotated[
        bool, typer.Option("--decode/--no-decode", help="Decode every image, or compare checksums alone.")
    ] = True,
    every_fidelity: Annotated[
        bool, typer.Option("--every-fidelity", help="Decode at each fidelity rather than at full alone.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare every checksum and decode every image; name what is damaged, and go on.

    Exit code 1 if anything is damaged or missing.
    """
    from halfbyte.records.verify import verify as verify_dataset

    if every_fidelity and not decode:
        raise typer.BadParameter("--every-fidelity decodes: leave --no-decode out")
    with progress_bar("verifying", quiet=quiet) as progress:
        report = verify_dataset(path, decode=decode, every_fidelity=every_fidelity, progress=progress)
    if json:
        print_json(_document(report, decode))
    else:
        _print_report(report, decode, every_fidelity)
    if not report.ok:
        raise typer.Exit(FOUND)


def _document(report: VerifyReport, decode: bool) -> dict[str, Any]:
    return {"ok": report.ok, "decoded": decode, **asdict(report)}


def _print_report(report: VerifyReport, decode: bool, every_fidelity: bool) -> None:
    _print_findings("damaged", report.damage)
    _print_findings("not judged", report.undecoded)
    if report.unexpected:
        print_lines(
            [f"not part of the data set: {printable(name)}" for name in report.unexpected[:_MOST_LINES]]
        )
        _print_more(len(report.unexpected))
    rate = f" ({format_rate(report.bytes_read / report.seconds)})" if report.seconds > 0 else ""
    print_text(
        f"{report.path}: {format_count(report.num_samples, 'sample')} in "
        f"{format_count(report.num_records, 'record')}, {format_bytes(report.bytes_read)} read in "
        f"{format_duration(report.seconds)}{rate}"
    )
    if decode:
        at = "every fidelity" if every_fidelity else "full fidelity"
        print_text(f"{format_count(report.num_decoded, 'image')} decoded at {at}")
    if report.ok:
        print_text("whole: every checksum is right", style="green")
    else:
        print_text(f"damaged: {format_count(len(report.damage), 'finding')}", style="red")


def _print_findings(title: str, findings: tuple[Finding, ...]) -> None:
    print_lines([f"{title}: {printable(finding.message)}" for finding in findings[:_MOST_LINES]])
    _print_more(len(findings))


def _print_more(count: int) -> None:
    if count > _MOST_LINES:
        print_lines([f"… and {count - _MOST_LINES:,} more: --json lists all"])
