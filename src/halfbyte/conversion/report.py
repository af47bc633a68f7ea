"""What became of every file, and what the data set costs to read at each fidelity."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from halfbyte.conversion.encode import short_reason
from halfbyte.conversion.engine import OnError
from halfbyte.conversion.journal import Outcome
from halfbyte.conversion.sources import Sources
from halfbyte.errors import CorruptRecord
from halfbyte.format.manifest import Manifest, Quality

__all__ = ["REPORT_NAME", "ConvertReport", "make_report", "read_report", "serialize_report"]

REPORT_NAME = "report.json"


@dataclass(frozen=True)
class ConvertReport:
    """The account of a conversion: ``found`` is the sum of the five counts that follow it.

    Attributes:
        found: files seen in the source.
        written: JPEGs that are progressive now, proven equal to their source.
        passthrough: images stored as they were, by reason (for images that are no JPEG, their kind).
        stored_jpegs: (key, reason) of the JPEGs among them.
        encoded: images made into a JPEG, as was asked, by kind and what was lost beside the quality.
        refused: (key, reason) of files that are not in the data set.
        ignored: entries that are no images by design, by reason: hidden ones, those of operating systems, and
            links to a folder that leads to themselves. A hidden folder counts as one.
        num_samples, num_records: of the data set.
        classes: names of the values of ``label``; None if it has none.
        source_bytes: size of the files that are in the data set.
        levels: names of the levels.
        bytes_at: bytes that reading it at fidelity 1 … L costs.
        extras_bytes: metadata and what followed the images, read by export only.
        quality: MS-SSIM against full fidelity; None if it was not measured.
        on_error: as asked.
        seconds: wall time of this run.
        converted_bytes: source bytes that this run converted; less than all if it went on with an earlier
            one.
        already_complete: the data set was there, and nothing was written.
    """

    found: int
    written: int
    passthrough: Mapping[str, int]
    stored_jpegs: tuple[tuple[str, str], ...]
    encoded: Mapping[str, int]
    refused: tuple[tuple[str, str], ...]
    ignored: Mapping[str, int]
    num_samples: int
    num_records: int
    classes: tuple[str, ...] | None
    source_bytes: int
    levels: tuple[str, ...]
    bytes_at: tuple[int, ...]
    extras_bytes: int
    quality: Quality | None
    on_error: OnError = "report"
    seconds: float = 0.0
    converted_bytes: int = 0
    already_complete: bool = False

    @property
    def exit_ok(self) -> bool:
        """Whether all is well: nothing was refused, or the refused were to be skipped."""
        return not self.refused or self.on_error == "skip"

    @property
    def refused_reasons(self) -> dict[str, int]:
        """How many files were refused, by the short form of the reason."""
        return dict(sorted(Counter(short_reason(reason) for _, reason in self.refused).items()))

    @property
    def shares(self) -> tuple[float, ...]:
        """Bytes at each fidelity, as shares of the source's."""
        return tuple(size / self.source_bytes for size in self.bytes_at)

    @property
    def dataset_bytes(self) -> int:
        """Bytes of all records, extras included."""
        return self.bytes_at[-1] + self.extras_bytes

    @property
    def mb_per_s(self) -> float:
        """Megabytes (10**6) of source a second, in this run."""
        return self.converted_bytes / self.seconds / 1e6 if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON-able values, what is particular to this run included."""
        run = {
            "already_complete": self.already_complete,
            "exit_ok": self.exit_ok,
            "seconds": round(self.seconds, 3),
            "mb_per_s": round(self.mb_per_s, 3),
        }
        return {**_lasting(self), **run}


def _lasting(report: ConvertReport) -> dict[str, Any]:
    """What two runs on the same source have in common."""
    return {
        "found": report.found,
        "written_jpeg": report.written,
        "passthrough": dict(report.passthrough),
        "stored_jpegs": _named(report.stored_jpegs),
        "encoded": dict(report.encoded),
        "refused": _named(report.refused),
        "refused_reasons": report.refused_reasons,
        "ignored": dict(report.ignored),
        "num_samples": report.num_samples,
        "num_records": report.num_records,
        "classes": report.classes,
        "source_bytes": report.source_bytes,
        "dataset_bytes": report.dataset_bytes,
        "levels": list(report.levels),
        "bytes_at": list(report.bytes_at),
        "shares": [round(share, 6) for share in report.shares],
        "extras_bytes": report.extras_bytes,
        "quality": asdict(report.quality) if report.quality else None,
    }


def _named(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"key": key, "reason": reason} for key, reason in pairs]


def _pairs(named: Iterable[Mapping[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((entry["key"], entry["reason"]) for entry in named)


def make_report(sources: Sources, outcomes: Sequence[Outcome], manifest: Manifest) -> ConvertReport:
    """Add up what became of every file."""
    refused = [*sources.refused, *(pair for outcome in outcomes for pair in outcome.refused)]
    return ConvertReport(
        found=sources.num_found,
        written=sum(outcome.written for outcome in outcomes),
        passthrough=_total(outcome.passthrough for outcome in outcomes),
        stored_jpegs=tuple(sorted(pair for outcome in outcomes for pair in outcome.stored_jpegs)),
        encoded=_total(outcome.encoded for outcome in outcomes),
        refused=tuple(sorted(refused)),
        ignored=sources.ignored,
        **_described(manifest),
    )


def _described(manifest: Manifest) -> dict[str, Any]:
    """What the data set itself says."""
    return {
        "num_samples": manifest.num_samples,
        "num_records": manifest.num_records,
        "classes": manifest.classes,
        "source_bytes": manifest.source_bytes,
        "levels": tuple(level.name for level in manifest.levels),
        "bytes_at": tuple(manifest.bytes_at(fidelity) for fidelity in range(1, manifest.num_levels + 1)),
        "extras_bytes": manifest.extras_bytes,
        "quality": manifest.quality,
    }


def _total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))


def serialize_report(report: ConvertReport) -> bytes:
    """The bytes of report.json."""
    return (json.dumps(_lasting(report), indent=2, ensure_ascii=False) + "\n").encode()


def read_report(out: Path, manifest: Manifest) -> ConvertReport:
    """The report of a complete data set.

    Raises:
        CorruptRecord: report.json is missing or damaged.
    """
    path = out / REPORT_NAME
    try:
        body = json.loads(path.read_bytes())
        return ConvertReport(
            found=body["found"],
            written=body["written_jpeg"],
            passthrough=body["passthrough"],
            stored_jpegs=_pairs(body["stored_jpegs"]),
            encoded=body["encoded"],
            refused=_pairs(body["refused"]),
            ignored=body["ignored"],
            **_described(manifest),
            already_complete=True,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptRecord(
            f"{path}: cannot be read ({error!r}), although the data set is complete; it is still good to "
            f"read: delete {out} only if you want to convert again"
        ) from error
