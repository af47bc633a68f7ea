"""Is a data set whole? Every checksum, every slice and every image, going on after a failure."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from halfbyte.errors import CorruptRecord, NotADataset, RecordError, UnsupportedFormat
from halfbyte.format.index import Index, record_name
from halfbyte.format.manifest import MANIFEST_NAME, Manifest, parse_manifest
from halfbyte.records.decode_check import DecodeCheck
from halfbyte.records.findings import Expected, Finding, check_record
from halfbyte.records.progress import Progress, ProgressCallback
from halfbyte.records.record_set import open_records
from halfbyte.storage.local import LocalStore

__all__ = ["Finding", "VerifyReport", "verify"]

_RECORD_NAME = re.compile(r"records/(\d{5,})\.pcr")


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What verification saw.

    Attributes:
        path: of the data set.
        num_records, num_samples: what should be there (by the records themselves where the index is damaged).
        num_decoded: images that decoded, at every fidelity asked for.
        bytes_read: in all.
        damage: what is damaged or missing.
        undecoded: images that nothing here can judge (Pillow is missing, a kind that no decoder here takes,
            over a limit); their checksums are right.
        unexpected: files in records/ that the index does not list; readers never look at them.
        seconds: wall time.
    """

    path: str
    num_records: int
    num_samples: int
    num_decoded: int
    bytes_read: int
    damage: tuple[Finding, ...]
    undecoded: tuple[Finding, ...]
    unexpected: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged or missing."""
        return not self.damage


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which records to look at, and what they must agree with."""

    names: dict[int, str]
    manifest: Manifest | None
    index: Index | None
    total_bytes: int
    total_samples: int

    def expected(self, number: int, store: LocalStore) -> Expected:
        return Expected(
            number=number,
            where=store.describe(self.names[number]),
            row=self.index.row(number) if self.index else None,
            first_sample=int(self.index.starts[number]) if self.index else None,
            dataset_id=self.manifest.dataset_id if self.manifest else None,
            fields=self.manifest.fields if self.manifest else None,
        )


@dataclass(slots=True)
class _Verification:
    """One run, and what it has found so far."""

    store: LocalStore
    decoder: DecodeCheck | None
    every_fidelity: bool
    samples: int = 0
    decoded: int = 0
    bytes_read: int = 0
    codecs: Counter[str] = field(default_factory=Counter)
    damage: list[Finding] = field(default_factory=list)
    undecoded: list[Finding] = field(default_factory=list)

    def plan(self) -> _Plan:
        """What there should be."""
        try:
            records = open_records(self.store)
        except (NotADataset, UnsupportedFormat):
            raise
        except RecordError as error:
            return self._plan_without_index(error)
        names = {number: record_name(number) for number in range(len(records.index))}
        total = int(records.index.ends[:, -1].sum())
        return _Plan(names, records.manifest, records.index, total, len(records))

    def _plan_without_index(self, error: RecordError) -> _Plan:
        """All records that dataset.json counts; where it is damaged too, those that are there."""
        manifest = None
        try:
            manifest = parse_manifest(
                self.store.read(MANIFEST_NAME), where=self.store.describe(MANIFEST_NAME)
            )
        except CorruptRecord:
            self.damage.append(Finding("manifest", str(error)))
        else:
            self.damage.append(Finding("index", str(error)))
        found = {int(match[1]): name for name in self.files() if (match := _RECORD_NAME.fullmatch(name))}
        names = {n: record_name(n) for n in range(manifest.num_records)} if manifest else found
        total = sum((self.store.root / name).stat().st_size for name in found.values())
        return _Plan(names, manifest, None, total, manifest.num_samples if manifest else 0)

    def check(self, expected: Expected) -> None:
        """Look at one record."""
        try:
            data = self.store.read(record_name(expected.number))
        except OSError as error:
            what = "missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
            message = f"{expected.where}: {what}, but it is part of the data set; copy it again"
            self.damage.append(Finding("record", message, expected.number))
            self.samples += expected.row.num_samples if expected.row else 0
            return
        found = check_record(data, expected, decoder=self.decoder, every_fidelity=self.every_fidelity)
        self.bytes_read += len(data)
        self.samples += found.num_samples
        self.decoded += found.num_decoded
        self.codecs += found.codecs
        self.damage += found.damage
        self.undecoded += found.undecoded

    def compare_counts(self, plan: _Plan) -> None:
        """Numbers of dataset.json against those of the index and of the records, where all could be read."""
        if plan.manifest is None or plan.index is None:
            return
        where = self.store.describe(MANIFEST_NAME)
        levels = np.diff(plan.index.ends[:, :-1], axis=1).sum(axis=0).tolist()
        said = [level.bytes for level in plan.manifest.levels]
        if levels != said:
            message = f"{where}: says levels of {said} bytes, but its records have {levels}; copy it again"
            self.damage.append(Finding("count", message))
        whole = not any(finding.kind == "record" for finding in self.damage)
        codecs = {name: count for name, count in plan.manifest.codecs.items() if count}
        if whole and codecs != dict(self.codecs):
            message = (
                f"{where}: says codecs {codecs}, but its records have {dict(self.codecs)}; copy it again"
            )
            self.damage.append(Finding("count", message))

    def files(self) -> list[str]:
        """What is in records/."""
        folder = self.store.root / "records"
        return sorted(f"records/{entry.name}" for entry in folder.iterdir()) if folder.is_dir() else []


def verify(
    path: str | os.PathLike[str],
    *,
    decode: bool = True,
    every_fidelity: bool = False,
    progress: ProgressCallback | None = None,
) -> VerifyReport:
    """Compare every checksum of a data set and decode every image, naming what is damaged and going on.

    Where dataset.json or the index is damaged, the records are judged on their own.

    Args:
        path: folder of the data set.
        decode: also decode every image at full fidelity (all its coefficients), on all cores.
        every_fidelity: decode at each lower fidelity too; costs several times as much as full alone.
        progress: called after every record.

    Returns:
        A report; ``report.ok`` tells whether all is whole.

    Raises:
        NotADataset: there is no dataset.json at ``path``.
        UnsupportedFormat: the data set was written in a newer format.
    """
    started = time.monotonic()
    work = _Verification(LocalStore(Path(path)), DecodeCheck() if decode else None, every_fidelity)
    plan = work.plan()
    for number in plan.names:
        work.check(plan.expected(number, work.store))
        if progress:
            progress(Progress(work.bytes_read, plan.total_bytes, work.samples, plan.total_samples))
    work.compare_counts(plan)
    known = set(plan.names.values())
    return VerifyReport(
        path=os.fspath(path),
        num_records=len(plan.names),
        num_samples=plan.total_samples or work.samples,
        num_decoded=work.decoded,
        bytes_read=work.bytes_read,
        damage=tuple(work.damage),
        undecoded=tuple(work.undecoded),
        unexpected=tuple(work.store.describe(name) for name in work.files() if name not in known),
        seconds=time.monotonic() - started,
    )
