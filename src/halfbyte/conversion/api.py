"""The conversion, from its first look at the source to dataset.json."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import halfbyte
from halfbyte import _native
from halfbyte.codecs.scan_script import ScanScript
from halfbyte.conversion.encode import short_reason
from halfbyte.conversion.engine import Engine, OnError
from halfbyte.conversion.fingerprint import Fingerprint, take_fingerprint
from halfbyte.conversion.finish import FINAL_NAMES, Finish
from halfbyte.conversion.journal import FOLDER, Journal, Outcome
from halfbyte.conversion.lock import hold
from halfbyte.conversion.other import check_encoder
from halfbyte.conversion.output import check_same, examine, read_complete, writing
from halfbyte.conversion.plan import make_plan
from halfbyte.conversion.reading import read_sources
from halfbyte.conversion.report import ConvertReport, read_report
from halfbyte.conversion.settings import Settings, default_workers, find_script
from halfbyte.conversion.sources import Source, Sources
from halfbyte.errors import ConvertError, SourceError
from halfbyte.format.index import record_name
from halfbyte.records.progress import ProgressCallback

__all__ = ["convert"]


def convert(
    source: Source,
    out: str | os.PathLike[str],
    *,
    script: str | os.PathLike[str] | ScanScript = "standard",
    record_bytes: int = 32 << 20,
    seed: int = 0,
    keep_order: bool = False,
    encode_other: int | None = None,
    on_error: OnError = "report",
    quality: bool = True,
    keep_trailing: bool = True,
    workers: int | None = None,
    limits: _native.Limits | None = None,
    progress: ProgressCallback | None = None,
) -> ConvertReport:
    """Make a data set of progressive records from a folder or list of images, which are only read.

    JPEGs become progressive, proven to hold the same coefficients. Every other image, and JPEGs that cannot
    be progressive (12-bit, lossless, damaged), are stored as they are. What is no image, cannot be read or is
    over ``limits`` is refused and listed. Hidden files, what operating systems leave behind, and documents
    (.csv, .txt, .json … that are no images) are ignored, and counted.

    ``out`` is a data set only when all is done. After a crash or Ctrl-C the same call goes on where it was,
    with the same result to the byte; when all is done already, it only says so.

    Args:
        source: a folder, a .csv, .tsv, .jsonl or .ndjson list, or an iterable of paths or of mappings.
            Folder: class folders, however deep, give ``label`` (index into the sorted class names; -1 for an
            image outside of them), and class folders in splits (train, val, test …) also ``split``. List:
            ``path`` or ``file_name`` is the image, every other column a field; text in ``label`` becomes
            class indices.
        out: a new or empty folder outside of the source.
        script: which scans: the name of a preset, a script, or the path of a file that spells one.
        record_bytes: size of a record in bytes of source; more where 64 samples need more. About three
            records are in memory at a time.
        seed: of the shuffle of samples over records.
        keep_order: leave samples in the order of their names, or as listed.
        encode_other: JPEG quality, 1 to 100 (4:4:4), at which images that are no JPEG become one; this loses
            transparency and all frames but the first. None: store them as they are.
        on_error: what to do about a refused file: "report" (finish and list it; ``exit_ok`` is False), "fail"
            (raise at the first) or "skip" (finish and list it; all is well).
        quality: measure MS-SSIM at each fidelity on up to 48 images.
        keep_trailing: keep bytes after the image (Ultra HDR, motion photos) for export.
        workers: threads; None for one a core.
        limits: caps on one image.
        progress: called now and then with how far it is.

    Returns:
        What became of every file, and what each fidelity costs; also in ``out/report.json``.

    Raises:
        SourceError: the source cannot be read or has no images.
        OutputExists: ``out`` holds something else.
        ConvertError: a file was refused (on_error="fail"), another conversion is running in ``out``, its
            source or settings changed since it began, or ``out`` cannot be written to (disk full,
            permissions).
        MissingDecoder: ``encode_other`` without Pillow.
        ScanScriptError: there is no such script, or it breaks a rule of progressive JPEG.
        ValueError: an option is out of range.
    """
    started = time.monotonic()
    settings = Settings(
        script=script if isinstance(script, ScanScript) else find_script(script),
        record_bytes=record_bytes,
        seed=seed,
        keep_order=keep_order,
        encode_other=encode_other,
        on_error=on_error,
        quality=quality,
        keep_trailing=keep_trailing,
        workers=default_workers() if workers is None else workers,
        limits=limits or _native.Limits(),
    )
    if encode_other is not None:
        check_encoder()
    folder = Path(out)
    sources = read_sources(source, out=os.fspath(out))
    if on_error == "fail":
        _fail_on(sources.refused)
    fingerprint = take_fingerprint(sources, settings.describe())
    with writing(folder):
        report = _convert_into(folder, sources, fingerprint, settings, progress)
    return replace(report, on_error=on_error, seconds=time.monotonic() - started)


def _convert_into(
    out: Path,
    sources: Sources,
    fingerprint: Fingerprint,
    settings: Settings,
    progress: ProgressCallback | None,
) -> ConvertReport:
    if examine(out) == "complete" and not (out / FOLDER).exists():
        return _already(out, sources, fingerprint)
    out.mkdir(parents=True, exist_ok=True)
    with hold(out / FOLDER / "lock"):
        journal = Journal(out)
        # Again, now that nobody else can change it.
        if examine(out) == "complete":
            report = _already(out, sources, fingerprint)
        else:
            report = _run(journal, sources, fingerprint, settings, progress)
        journal.remove()
    return report


def _already(out: Path, sources: Sources, fingerprint: Fingerprint) -> ConvertReport:
    manifest = read_complete(out)
    check_same(out, manifest, fingerprint, sources)
    return read_report(out, manifest)


def _run(
    journal: Journal,
    sources: Sources,
    fingerprint: Fingerprint,
    settings: Settings,
    progress: ProgressCallback | None,
) -> ConvertReport:
    journal.begin(fingerprint, version=halfbyte.__version__)
    journal.remove_leftovers(FINAL_NAMES)
    (journal.out / "records").mkdir(exist_ok=True)
    plan = make_plan(
        sources.sizes, seed=settings.seed, record_bytes=settings.record_bytes, keep_order=settings.keep_order
    )
    engine = Engine(
        sources=sources,
        plan=plan,
        encoding=settings.encoding,
        journal=journal,
        dataset_id=fingerprint.identity,
        workers=settings.workers,
        on_error=settings.on_error,
        progress=progress,
    )
    done = _resume(engine, len(plan))
    before = engine.done_bytes
    with warnings.catch_warnings():
        # Pillow warns of damaged metadata and large sizes; the report says what matters of it.
        warnings.filterwarnings("ignore", module=r"PIL\.")
        done |= engine.run(number for number in range(len(plan)) if number not in done)
    outcomes = [done[number] for number in range(len(plan))]
    _check_any(journal, sources, outcomes)
    finish = Finish(
        out=journal.out,
        dataset_id=fingerprint.identity,
        script=settings.script,
        provenance=_provenance(fingerprint),
        limits=settings.limits,
        workers=settings.workers,
        quality=settings.quality,
    )
    return replace(finish.run(sources, outcomes), converted_bytes=engine.done_bytes - before)


def _resume(engine: Engine, num_records: int) -> dict[int, Outcome]:
    """What an earlier run finished."""
    done = {}
    for number in range(num_records):
        outcome = engine.journal.finished(number, dataset_id=engine.dataset_id)
        if outcome is not None:
            if engine.on_error == "fail":
                _fail_on(outcome.refused)
            done[number] = outcome
            engine.count_done(number)
    return done


def _fail_on(refused: tuple[tuple[str, str], ...]) -> None:
    if refused:
        key, reason = refused[0]
        raise ConvertError(
            f"{key}: {reason} ({len(refused)} such files so far); mend or remove them, or convert with "
            "on_error='report' (finish and list them) or 'skip'"
        )


def _check_any(journal: Journal, sources: Sources, outcomes: list[Outcome]) -> None:
    """Leave nothing behind, and say so, if no file is an image."""
    if any(outcome.row.num_samples for outcome in outcomes):
        return
    refused = [*sources.refused, *(pair for outcome in outcomes for pair in outcome.refused)]
    reasons = Counter(short_reason(reason) for _, reason in refused)
    for number in range(len(outcomes)):
        (journal.out / record_name(number)).unlink(missing_ok=True)
    (journal.out / "records").rmdir()
    journal.remove()
    raise SourceError(
        f"{sources.where}: no image among {sources.num_found} files "
        f"({', '.join(f'{count} {reason}' for reason, count in sorted(reasons.items()))}; such as "
        f"{refused[0][0]}: {refused[0][1]}); give a folder or list of images"
    )


def _provenance(fingerprint: Fingerprint) -> dict[str, object]:
    encode_other = fingerprint.settings["encode_other"]
    return {
        "halfbyte": halfbyte.__version__,
        "libjpeg": _native.libjpeg_version(),
        "pillow": None if encode_other is None else check_encoder(),
        "fingerprint": fingerprint.identity.hex(),
        **fingerprint.settings,
    }
