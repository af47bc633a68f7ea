"""The index of a data set, as its description knows it."""

from __future__ import annotations

import numpy as np

from halfbyte.errors import CorruptRecord
from halfbyte.format.index import INDEX_NAME, Index, decode_index
from halfbyte.format.manifest import Manifest
from halfbyte.storage.store import Store

__all__ = ["read_index"]


def read_index(store: Store, manifest: Manifest) -> Index:
    """Read index.arrow, verify it, and compare its sums with what dataset.json says.

    Raises:
        CorruptRecord: it is missing or damaged, or the two do not belong together.
    """
    where = store.describe(INDEX_NAME)
    try:
        data = store.read(INDEX_NAME, 0, manifest.index_bytes + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CorruptRecord(f"{where}: missing; copy it to its place again") from error
    if len(data) != manifest.index_bytes:
        more = "more than " if len(data) > manifest.index_bytes else f"{len(data)} bytes, but "
        raise CorruptRecord(
            f"{where}: {more}the {manifest.index_bytes} bytes that dataset.json says; "
            f"it is damaged: copy it again"
        )
    index = decode_index(data, num_levels=manifest.num_levels, checksum=manifest.index_checksum, where=where)
    _check_totals(index, manifest, where)
    return index


def _check_totals(index: Index, manifest: Manifest, where: str) -> None:
    tables, *levels, extras = np.diff(index.ends, axis=1, prepend=0).sum(axis=0).tolist()
    totals = {
        "records": (len(index), manifest.num_records),
        "samples": (int(index.starts[-1]), manifest.num_samples),
        "bytes of headers and tables": (tables, manifest.overhead_bytes),
        "bytes of extras": (extras, manifest.extras_bytes),
    }
    for number, (got, level) in enumerate(zip(levels, manifest.levels, strict=True), start=1):
        totals[f"bytes of level {number}"] = (got, level.bytes)
    for what, (got, said) in totals.items():
        if got != said:
            raise CorruptRecord(
                f"{where}: {got} {what} in all, but dataset.json says {said}; the two belong to different "
                f"data sets: copy both again"
            )
