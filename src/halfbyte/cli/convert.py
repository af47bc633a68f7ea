"""``halfbyte convert``: from images to a data set."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfbyte.cli.failures import FOUND
from halfbyte.cli.options import Debug, Json, Quiet, check_seed, size_option
from halfbyte.cli.progress import progress_bar
from halfbyte.cli.screen import print_fields, print_json, print_lines, print_table, print_text, printable
from halfbyte.cli.sizes import format_bytes, format_count, format_duration, format_rate, format_share

if TYPE_CHECKING:
    from halfbyte.conversion.report import ConvertReport

__all__ = ["OnRefused", "convert", "fidelity_table"]

_FIRST_NAMES = 5
_COLUMNS = (
    ("fidelity", "right"),
    ("level", "left"),
    ("reads", "right"),
    ("of source", "right"),
    ("MS-SSIM", "right"),
)


class OnRefused(StrEnum):
    """What a refused file does."""

    report = "report"
    fail = "fail"
    skip = "skip"


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="Folder of images, with class folders and splits or not; or a .csv, .tsv or .jsonl list.",
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the data set, outside of SOURCE.")],
    *,
    scan_script: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE", help="How images are cut into levels: standard, spectral, fine, or a file."
        ),
    ] = "standard",
    record_size: Annotated[
        int,
        typer.Option(metavar="SIZE", parser=size_option, help="Bytes of a record, such as 32MiB or 100MB."),
    ] = "32MiB",  # type: ignore[assignment]  # the parser makes it a number
    seed: Annotated[int, typer.Option(min=0, callback=check_seed, help="Of the order of samples.")] = 0,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Leave samples in the order of the source, unshuffled.")
    ] = False,
    encode_other: Annotated[
        int | None,
        typer.Option(
            metavar="Q", min=1, max=100, help="Make PNGs and others into JPEGs of this quality (lossy)."
        ),
    ] = None,
    on_error: Annotated[
        OnRefused,
        typer.Option(
            help="A refused file: finish and exit with 1 (report), stop at once (fail), exit with 0 (skip)."
        ),
    ] = OnRefused.report,
    no_quality: Annotated[bool, typer.Option("--no-quality", help="Do not measure MS-SSIM.")] = False,
    drop_trailing: Annotated[
        bool,
        typer.Option("--drop-trailing", help="Drop what follows the image in its file (such as a video)."),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Threads; one a core if left out.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Store images once, as progressive records that can be read at any fidelity.

    JPEGs keep every coefficient (proven for each); other images are stored as they are. SOURCE is only read.
    Stopped at any moment, the same command goes on where it was. Exit code 1 if files were refused.
    """
    from halfbyte import convert as convert_dataset

    with progress_bar("converting", quiet=quiet) as progress:
        report = convert_dataset(
            source,
            out,
            script=scan_script,
            record_bytes=record_size,
            seed=seed,
            keep_order=keep_order,
            encode_other=encode_other,
            on_error=on_error.value,
            quality=not no_quality,
            keep_trailing=not drop_trailing,
            workers=workers,
            progress=progress,
        )
    if json:
        print_json({"source": str(source), "out": str(out), **report.to_json()})
    else:
        _print_report(report, out)
    if not report.exit_ok:
        raise typer.Exit(FOUND)


def _print_report(report: ConvertReport, out: Path) -> None:
    if report.already_complete:
        print_text(
            f"{out}: is there already, from the same source and with the same settings; nothing was done"
        )
    print_fields(_summary(report))
    print_text()
    fidelity_table(report)
    if report.stored_jpegs:
        print_text()
        count = format_count(len(report.stored_jpegs), "JPEG")
        print_text(f"stored as they came: {count} that cannot be progressive", style="yellow")
        _print_named(report.stored_jpegs, out)
    if report.refused:
        print_text()
        print_text(f"refused: {_reasons(report.refused_reasons)}", style="red")
        _print_named(report.refused, out)
    place = shlex.quote(str(out))
    print_lines(["", "Next:", f"  halfbyte info {place}", f"  halfbyte verify {place}"])
    middle = (len(report.levels) + 1) // 2
    print_lines([f'  python -c "import halfbyte; print(halfbyte.open({str(out)!r}, fidelity={middle}))"'])


def _print_named(pairs: Sequence[tuple[str, str]], out: Path) -> None:
    print_lines([f"  {printable(key)}: {printable(why)}" for key, why in pairs[:_FIRST_NAMES]])
    if len(pairs) > _FIRST_NAMES:
        print_lines([f"  … and {len(pairs) - _FIRST_NAMES:,} more: see {out / 'report.json'}"])


def _summary(report: ConvertReport) -> dict[str, str]:
    samples = f"{report.num_samples:,} in {format_count(report.num_records, 'record')}"
    share = format_share(report.dataset_bytes, report.source_bytes)
    extras = f", of it {format_bytes(report.extras_bytes)} of metadata that only extract reads"
    fields = {
        "samples": samples,
        "classes": f"{len(report.classes):,}" if report.classes else "none",
        "source": f"{format_bytes(report.source_bytes)} in {format_count(report.found, 'entry', 'entries')}",
        "data set": f"{format_bytes(report.dataset_bytes)} ({share} of the source)"
        + (extras if report.extras_bytes else ""),
        "progressive": f"{format_count(report.written, 'JPEG')}, every coefficient as in its source",
    }
    if report.passthrough:
        fields["as they were"] = _reasons(report.passthrough)
    if report.encoded:
        fields["made JPEG"] = _reasons(report.encoded)
    if report.ignored:
        fields["ignored"] = _reasons(report.ignored)
    if not report.already_complete:
        rate = format_rate(report.converted_bytes / report.seconds) if report.seconds else ""
        fields["time"] = f"{format_duration(report.seconds)}, {rate}"
    return fields


def _reasons(counts: Mapping[str, int]) -> str:
    return f"{sum(counts.values()):,} ({', '.join(f'{count:,} {why}' for why, count in counts.items())})"


def fidelity_table(report: Any) -> None:
    """What each fidelity reads, and how near it comes."""
    quality = report.quality.mean if report.quality else [None] * len(report.levels)
    print_table(
        _COLUMNS,
        [
            [
                str(fidelity),
                level,
                format_bytes(size),
                format_share(size, report.source_bytes),
                "-" if value is None else f"{value:.4f}",
            ]
            for fidelity, (level, size, value) in enumerate(
                zip(report.levels, report.bytes_at, quality, strict=True), start=1
            )
        ],
    )
