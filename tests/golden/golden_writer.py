"""A small data set from encoded samples, written in the plainest way: for golden files and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import xxhash

from halfbyte.codecs.encoded import EncodedSample
from halfbyte.format.checksum import section_checksum
from halfbyte.format.index import encode_index, record_name
from halfbyte.format.manifest import Field, Level, Manifest, serialize_manifest
from halfbyte.records.writer import encode_record


def write_dataset(
    folder: Path,
    records: Sequence[Sequence[EncodedSample]],
    schema: pa.Schema,
    *,
    num_levels: int,
    **about: Any,
) -> None:
    """Write a data set; ``about`` sets further keys of dataset.json."""
    dataset_id = xxhash.xxh3_128_digest(folder.name.encode())
    encoded = [
        encode_record(samples, schema=schema, num_levels=num_levels, dataset_id=dataset_id)
        for samples in records
    ]
    (folder / "records").mkdir(parents=True, exist_ok=True)
    for number, record in enumerate(encoded):
        (folder / record_name(number)).write_bytes(b"".join(record.parts))
    index = encode_index([record.row for record in encoded], num_levels)
    (folder / "index.arrow").write_bytes(index)
    levels = tuple(
        Level(f"scans {k}", sum(r.row.ends[k] - r.row.ends[k - 1] for r in encoded))
        for k in range(1, num_levels + 1)
    )
    manifest = Manifest(
        **totals(records, [record.row.ends for record in encoded]),
        dataset_id=dataset_id,
        classes=None,
        fields=tuple(Field(field.name, str(field.type)) for field in schema),
        levels=levels,
        scan_script={"name": "golden", "note": "the progressions of libjpeg"},
        quality=None,
        index_bytes=len(index),
        index_checksum=section_checksum(index),
        provenance={"made_by": "tests/golden/make_golden.py"},
    )
    (folder / "dataset.json").write_bytes(serialize_manifest(replace(manifest, **about)))


def totals(records: Sequence[Sequence[EncodedSample]], ends: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """Sums over all records, as dataset.json has them."""
    samples = [sample for record in records for sample in record]
    codecs = {name: sum(s.codec == codec for s in samples) for codec, name in ((1, "jpeg"), (0, "raw"))}
    return {
        "num_samples": len(samples),
        "num_records": len(records),
        "source_bytes": sum(s.source_bytes for s in samples),
        "overhead_bytes": sum(e[0] for e in ends),
        "extras_bytes": sum(e[-1] - e[-2] for e in ends),
        "codecs": codecs,
    }
