"""The last steps: index, quality, report, and dataset.json, which makes it a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from halfbyte._native import Limits
from halfbyte.codecs.scan_script import ScanScript
from halfbyte.conversion.journal import Outcome
from halfbyte.conversion.quality import measure_quality
from halfbyte.conversion.report import REPORT_NAME, ConvertReport, make_report, serialize_report
from halfbyte.conversion.sources import Sources
from halfbyte.format.checksum import section_checksum
from halfbyte.format.index import INDEX_NAME, decode_index, encode_index
from halfbyte.format.manifest import MANIFEST_NAME, Field, Level, Manifest, serialize_manifest
from halfbyte.records.record_set import RecordSet
from halfbyte.storage.local import LocalStore, write_atomically

__all__ = ["FINAL_NAMES", "Finish"]

# In the order in which they are written.
FINAL_NAMES = (INDEX_NAME, REPORT_NAME, MANIFEST_NAME)


@dataclass(frozen=True)
class Finish:
    """From records on the disk to a data set.

    Attributes:
        out: its folder.
        dataset_id: 16 bytes.
        script: its scan script.
        provenance: for dataset.json.
        limits, workers: for measuring quality.
        quality: whether to measure it.
    """

    out: Path
    dataset_id: bytes
    script: ScanScript
    provenance: Mapping[str, Any]
    limits: Limits
    workers: int
    quality: bool = True

    def run(self, sources: Sources, outcomes: Sequence[Outcome]) -> ConvertReport:
        """Write the index, report.json and, last, dataset.json."""
        index = encode_index([outcome.row for outcome in outcomes], self.script.levels)
        write_atomically(self.out / INDEX_NAME, [index])
        manifest = self._describe(sources, outcomes, index)
        if self.quality:
            manifest = replace(manifest, quality=self._measure(manifest, index))
        report = make_report(sources, outcomes, manifest)
        write_atomically(self.out / REPORT_NAME, [serialize_report(report)])
        write_atomically(self.out / MANIFEST_NAME, [serialize_manifest(manifest)])
        return report

    def _measure(self, manifest: Manifest, index: bytes) -> Any:
        store = LocalStore(self.out)
        rows = decode_index(
            index,
            num_levels=manifest.num_levels,
            checksum=manifest.index_checksum,
            where=store.describe(INDEX_NAME),
        )
        return measure_quality(RecordSet(store, manifest, rows), workers=self.workers, limits=self.limits)

    def _describe(self, sources: Sources, outcomes: Sequence[Outcome], index: bytes) -> Manifest:
        ends = [outcome.row.ends for outcome in outcomes]
        names = self.script.level_names
        levels = [Level(name, sum(e[k] - e[k - 1] for e in ends)) for k, name in enumerate(names, start=1)]
        codecs: Counter[str] = Counter()
        for outcome in outcomes:
            codecs.update(outcome.codecs)
        return Manifest(
            dataset_id=self.dataset_id,
            num_samples=sum(outcome.row.num_samples for outcome in outcomes),
            num_records=len(outcomes),
            classes=sources.classes,
            fields=tuple(Field(field.name, str(field.type)) for field in sources.schema),
            levels=tuple(levels),
            scan_script=self.script.to_dict(),
            source_bytes=sum(outcome.source_bytes for outcome in outcomes),
            overhead_bytes=sum(e[0] for e in ends),
            extras_bytes=sum(e[-1] - e[-2] for e in ends),
            codecs=dict(sorted(codecs.items())),
            quality=None,
            index_bytes=len(index),
            index_checksum=section_checksum(index),
            provenance=dict(self.provenance),
        )
