"""A data set as it lies in a store: its manifest, its index, and its records by number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from halfbyte.errors import CorruptRecord, FidelityError, NotADataset
from halfbyte.format.header import Header
from halfbyte.format.index import Index, record_name
from halfbyte.format.manifest import MANIFEST_NAME, MAX_MANIFEST_BYTES, Manifest, parse_manifest
from halfbyte.format.sample_table import SampleTable
from halfbyte.records.index_file import read_index
from halfbyte.records.record import Record, check_slices, parse_record, parse_table, slice_ranges
from halfbyte.records.table_cache import TableCache
from halfbyte.storage.store import Store

__all__ = ["ReadMeter", "RecordSet", "StoredSample", "open_records"]

# Sample tables kept for single-sample reads; about 400 bytes a sample.
_TABLE_CACHE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class StoredSample:
    """One sample's bytes at some fidelity, with what the sample table says of it."""

    number: int
    record: int
    index: int
    key: str
    codec: int
    width: int
    height: int
    orientation: int
    slices: list[memoryview]
    fields: dict[str, Any]

    def value(self, name: str) -> Any:
        """A user's field, or ``_key`` or ``_number``."""
        if name == "_key":
            return self.key
        return self.number if name == "_number" else self.fields[name]


class ReadMeter(Protocol):
    """Is told of every read, by whichever thread reads. Safe to share between threads; picklable."""

    def begin_read(self) -> None:
        """A request goes to the store."""

    def end_read(self, size: int) -> None:
        """It came back with so many bytes; 0 if it failed."""


@dataclass
class RecordSet:
    """An opened data set. Reads only what is asked; safe to share between threads and processes.

    Attributes:
        store: where its bytes are.
        manifest: dataset.json.
        index: index.arrow.
        meter: told of every read.
    """

    store: Store
    manifest: Manifest
    index: Index
    meter: ReadMeter | None = None
    _tables: TableCache = field(
        default_factory=lambda: TableCache(_TABLE_CACHE_BYTES), init=False, repr=False
    )

    def __len__(self) -> int:
        return self.manifest.num_samples

    def metered(self, meter: ReadMeter) -> RecordSet:
        """The same data set with another meter."""
        return RecordSet(self.store, self.manifest, self.index, meter)

    def check_fidelity(self, fidelity: int | None) -> int:
        """The fidelity as a number (None: the highest); FidelityError if there is no such one."""
        levels = self.manifest.num_levels
        if fidelity is None:
            return levels
        whole = isinstance(fidelity, int | np.integer) and not isinstance(fidelity, bool)
        if not whole or not 1 <= fidelity <= levels:
            raise FidelityError(
                f"fidelity {fidelity!r} of a data set with levels 1 to {levels}; "
                f"give a whole number in that range ({levels} is the original)"
            )
        return int(fidelity)

    def locate(self, number: int) -> tuple[int, int]:
        """Record and index in it of sample ``number``; negative numbers count from the end."""
        count = len(self)
        if not -count <= number < count:
            raise IndexError(f"sample {number} of a data set of {count}; give a number from 0 to {count - 1}")
        number %= count
        record = int(np.searchsorted(self.index.starts, number, side="right")) - 1
        return record, number - int(self.index.starts[record])

    def where(self, record: int) -> str:
        """Path of a record, for messages."""
        return self.store.describe(record_name(record))

    def record(self, record: int, fidelity: int | None = None, *, extras: bool = False) -> Record:
        """One record at ``fidelity`` by one sequential read, verified.

        Raises:
            FidelityError, NeedMoreBytes, CorruptRecord, UnsupportedFormat: as they say.
        """
        fidelity = self.check_fidelity(fidelity)
        return self._parse(record, fidelity, extras=extras)

    def salvage(self, record: int, fidelity: int) -> tuple[Record, dict[int, Exception]]:
        """A record with a damaged level: all of it, and why which samples must not be used.

        Sections are not verified; every sample is, slice by slice. Header and table must be sound.
        """
        parsed = self._parse(record, fidelity, verify=False)
        damaged: dict[int, Exception] = {}
        for index in range(len(parsed)):
            try:
                parsed.check(index)
            except CorruptRecord as error:
                damaged[index] = error
        return parsed, damaged

    def table(self, record: int) -> tuple[Header, SampleTable]:
        """Header and sample table of a record; the last ones used stay in memory."""
        kept = self._tables.get(record)
        if kept is not None:
            return kept
        row = self.index.row(record)
        data = self._read(record, 0, row.ends[0])
        header, table = parse_table(
            data, where=self.where(record), row=row, dataset_id=self.manifest.dataset_id
        )
        self._check_fields(table, record)
        self._tables.put(record, header, table)
        return header, table

    def sample(self, number: int, fidelity: int | None = None) -> StoredSample:
        """One sample at ``fidelity``, by as many small reads as there are levels, each verified."""
        fidelity = self.check_fidelity(fidelity)
        record, index = self.locate(number)
        header, table = self.table(record)
        ranges = slice_ranges(header, table, index, fidelity).tolist()
        parts = self._ask(record, lambda: self.store.read_ranges(record_name(record), ranges))
        where = f"{self.where(record)}: sample {index} ({table.keys[index].as_py()})"
        check_slices(parts, table.checksums[index, :fidelity], table.lengths[index, :fidelity], where=where)
        return self.stored(record, index, table, [memoryview(part) for part in parts])

    def stored(self, record: int, index: int, table: SampleTable, slices: list[memoryview]) -> StoredSample:
        """A sample from its row of the table and its slices."""
        return StoredSample(
            number=int(self.index.starts[record]) + index,
            record=record,
            index=index,
            key=table.keys[index].as_py(),
            codec=int(table.codec[index]),
            width=int(table.width[index]),
            height=int(table.height[index]),
            orientation=int(table.orientation[index]),
            slices=slices,
            fields=table.row(index, where=self.where(record)),
        )

    def _parse(self, record: int, fidelity: int, *, extras: bool = False, verify: bool = True) -> Record:
        row = self.index.row(record)
        parsed = parse_record(
            self._read(record, 0, row.ends[-1 if extras else fidelity]),
            fidelity=fidelity,
            where=self.where(record),
            row=row,
            dataset_id=self.manifest.dataset_id,
            verify=verify,
            extras=extras,
        )
        self._check_fields(parsed.table, record)
        return parsed

    def _check_fields(self, table: SampleTable, record: int) -> None:
        got, expected = table.fields.column_names, [f.name for f in self.manifest.fields]
        if got != expected:
            raise CorruptRecord(
                f"{self.where(record)}: has the fields {got}, but dataset.json says {expected}; "
                f"copy the right file"
            )

    def _read(self, record: int, start: int, stop: int) -> bytes:
        (data,) = self._ask(record, lambda: [self.store.read(record_name(record), start, stop)])
        return data

    def _ask(self, record: int, read: Callable[[], list[bytes]]) -> list[bytes]:
        size = 0
        if self.meter:
            self.meter.begin_read()
        try:
            parts = read()
            size = sum(map(len, parts))
            return parts
        except (FileNotFoundError, NotADirectoryError) as error:
            raise CorruptRecord(
                f"{self.where(record)}: missing, but the index lists it; copy it to its place again"
            ) from error
        finally:
            if self.meter:
                self.meter.end_read(size)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("store", "manifest", "index", "meter")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def open_records(store: Store) -> RecordSet:
    """Open the data set in ``store``; reads dataset.json and index.arrow only.

    Raises:
        NotADataset: there is no complete data set.
        CorruptRecord, UnsupportedFormat: its description or index cannot be used.
    """
    where = store.describe(MANIFEST_NAME)
    try:
        text = store.read(MANIFEST_NAME, 0, MAX_MANIFEST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotADataset(
            f"{where}: no such file, so there is no complete data set here; make one with "
            f"`halfbyte convert PHOTOS OUT` (the same command also finishes an interrupted one)"
        ) from error
    manifest = parse_manifest(text, where=where)
    return RecordSet(store, manifest, read_index(store, manifest))
