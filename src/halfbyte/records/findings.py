"""What verification finds, and how one record is searched for it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from halfbyte.errors import LimitExceeded, MissingDecoder, RecordError, UnsupportedImage
from halfbyte.format.buffers import Buffer
from halfbyte.format.checksum import slice_checksum
from halfbyte.format.header import KIND_LEVEL
from halfbyte.format.index import IndexRow
from halfbyte.format.manifest import Field
from halfbyte.format.sample_table import CODEC_NAMES, CODEC_RAW
from halfbyte.records.decode_check import DecodeCheck, sample_where
from halfbyte.records.record import Record, check_section, parse_table

__all__ = ["Expected", "Finding", "RecordFindings", "check_record"]

Kind = Literal["manifest", "index", "record", "level", "extras", "sample", "decode", "count"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that verification found.

    Attributes:
        kind: what is concerned. "sample" is one sample's bytes, "decode" an image that does not decode,
            "count" numbers of dataset.json that its records contradict.
        message: for people: what, where, got against expected, what to do.
        record: number of the record, None where it is not one record.
        level: lowest level that is concerned.
        sample: number of the sample in the data set, None where it is not one sample or the index is damaged.
        key: its name.
    """

    kind: Kind
    message: str
    record: int | None = None
    level: int | None = None
    sample: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What a record must agree with; None where the data set's own description is damaged."""

    number: int
    where: str
    row: IndexRow | None
    first_sample: int | None
    dataset_id: bytes | None
    fields: tuple[Field, ...] | None


@dataclass(slots=True)
class RecordFindings:
    """What was seen in one record."""

    num_samples: int = 0
    num_decoded: int = 0
    codecs: Counter[str] = field(default_factory=Counter)
    damage: list[Finding] = field(default_factory=list)
    undecoded: list[Finding] = field(default_factory=list)


def check_record(
    data: Buffer, expected: Expected, *, decoder: DecodeCheck | None, every_fidelity: bool
) -> RecordFindings:
    """Check header, table, sections and slices of a whole record, then decode what is sound.

    Args:
        data: all bytes of the record's file.
        expected: what they must agree with.
        decoder: decodes; None to leave decoding out.
        every_fidelity: decode at all fidelities rather than at full alone.
    """
    try:
        header, table = parse_table(
            data, where=expected.where, row=expected.row, dataset_id=expected.dataset_id
        )
    except RecordError as error:
        samples = expected.row.num_samples if expected.row else 0
        return RecordFindings(samples, damage=[Finding("record", str(error), expected.number)])
    check = _RecordCheck(Record(expected.where, header, table, header.num_levels, memoryview(data)), expected)
    check.sections()
    check.frame()
    first_bad = check.slices()
    if decoder is not None:
        check.decode(decoder, first_bad, 1 if every_fidelity else header.num_levels)
    return check.found


class _RecordCheck:
    """One record whose header and table are sound, and what was found in it."""

    def __init__(self, record: Record, expected: Expected) -> None:
        self.record = record
        self.expected = expected
        self.found = RecordFindings(len(record))
        self.found.codecs.update(CODEC_NAMES[codec] for codec in record.table.codec.tolist())

    def sections(self) -> None:
        """Checksums of levels and extras."""
        for section in self.record.header.sections[1:]:
            try:
                check_section(self.record.data, section, where=self.record.where, verify=True)
            except RecordError as error:
                kind: Kind = "level" if section.kind == KIND_LEVEL else "extras"
                self._add(Finding(kind, str(error), self.expected.number, section.level or None))

    def frame(self) -> None:
        """Bytes after the last section, and columns that dataset.json does not have."""
        record, said = self.record, self.expected.fields
        if len(record.data) > record.header.file_bytes:
            self._add_record(
                f"{len(record.data)} bytes, but its sections end at byte {record.header.file_bytes}; "
                f"something was appended to the file: copy it again"
            )
        fields = tuple(Field(f.name, str(f.type)) for f in record.table.fields.schema)
        if said is not None and fields != said:
            self._add_record(
                f"has fields {_names(fields)}, but dataset.json says {_names(said)}; copy the right file"
            )

    def slices(self) -> npt.NDArray[np.int64]:
        """For each sample the lowest level whose slice is damaged or missing; L + 1 where all are right."""
        record, levels = self.record, self.record.header.num_levels
        first_bad = np.full(len(record), levels + 1, np.int64)
        for level in range(levels, 0, -1):
            section = record.header.level(level)
            starts = (section.offset + section.preamble + record.table.offsets[:, level - 1]).tolist()
            lengths = record.table.lengths[:, level - 1].tolist()
            checksums = record.table.checksums[:, level - 1].tolist()
            for index, (start, length, checksum) in enumerate(zip(starts, lengths, checksums, strict=True)):
                part = record.data[start : start + length]
                if len(part) != length or slice_checksum(part) != checksum:
                    first_bad[index] = level
        for index in np.flatnonzero(first_bad <= levels).tolist():
            level = int(first_bad[index])
            way = (
                f"it can still be read at fidelity {level - 1}" if level > 1 else "nothing of it can be read"
            )
            where = sample_where(record, index)
            self._add(
                self._of_sample(
                    "sample",
                    index,
                    level,
                    f"{where}: its bytes in level {level} are damaged or missing; {way}",
                )
            )
        return first_bad

    def decode(self, decoder: DecodeCheck, first_bad: npt.NDArray[np.int64], lowest: int) -> None:
        """Decode at fidelities ``lowest`` … L all samples that are sound so far; each is named once."""
        record, levels = self.record, self.record.header.num_levels
        failed = set(np.flatnonzero(first_bad <= levels).tolist())
        for fidelity in range(lowest, levels + 1):
            sound = np.flatnonzero(first_bad > fidelity).tolist()
            # A raw sample is the same at every fidelity: once is enough.
            wanted = [i for i in sound if fidelity == levels or record.table.codec[i] != CODEC_RAW]
            for index, error in decoder.failures(record, wanted, fidelity):
                if index not in failed:
                    failed.add(index)
                    self._add_undecodable(index, fidelity, error)
        self.found.num_decoded = len(record) - len(failed)

    def _add_undecodable(self, index: int, fidelity: int, error: Exception) -> None:
        raw = bool(self.record.table.codec[index] == CODEC_RAW)
        # These say something of this machine or its limits, not of the bytes.
        no_verdict = isinstance(error, LimitExceeded | MissingDecoder | MemoryError) or (
            raw and isinstance(error, UnsupportedImage)
        )
        message = f"{error} (stored as it came, and its checksum is right)" if raw else str(error)
        finding = self._of_sample("decode", index, fidelity, message)
        (self.found.undecoded if no_verdict else self.found.damage).append(finding)

    def _of_sample(self, kind: Kind, index: int, level: int, message: str) -> Finding:
        first = self.expected.first_sample
        number = None if first is None else first + index
        key = self.record.table.keys[index].as_py()
        return Finding(kind, message, self.expected.number, level, number, key)

    def _add_record(self, message: str) -> None:
        self._add(Finding("record", f"{self.record.where}: {message}", self.expected.number))

    def _add(self, finding: Finding) -> None:
        self.found.damage.append(finding)


def _names(fields: tuple[Field, ...]) -> str:
    return ", ".join(f"{f.name} ({f.type})" for f in fields) or "none"
