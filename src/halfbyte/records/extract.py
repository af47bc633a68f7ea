"""Back to image files: a folder as it was before conversion, at any fidelity."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from halfbyte.codecs.jpeg import assemble_jpeg, restore_jpeg
from halfbyte.errors import CorruptRecord, FidelityError, RecordError
from halfbyte.format.index import record_name
from halfbyte.format.sample_table import CODEC_RAW
from halfbyte.records.metadata_file import METADATA_BESIDE, METADATA_NAME, MetadataFile
from halfbyte.records.output_folder import OutputFolder, is_name_too_long, unsafe_key
from halfbyte.records.progress import Progress, ProgressCallback
from halfbyte.records.record import Record, check_section, check_slices, parse_table
from halfbyte.records.record_set import RecordSet, open_records
from halfbyte.storage.local import LocalStore

__all__ = ["ExtractReport", "extract"]


@dataclass(frozen=True, slots=True)
class ExtractReport:
    """What extraction did.

    Attributes:
        path, out: folders of the data set and of the files.
        fidelity: of the files.
        original: whether metadata and trailing bytes were restored.
        num_files: image files written.
        bytes_written: in them.
        metadata: whether metadata.jsonl was written.
        renamed: (key, file name) of samples whose key another file had taken already.
        failed: (key or record, message) of what is damaged and was left out.
    """

    path: str
    out: str
    fidelity: int
    original: bool
    num_files: int
    bytes_written: int
    metadata: bool
    renamed: tuple[tuple[str, str], ...]
    failed: tuple[tuple[str, str], ...]


def extract(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    fidelity: int | None = None,
    original: bool = False,
    progress: ProgressCallback | None = None,
) -> ExtractReport:
    """Write every sample as an image file named by its key.

    Fields that the names do not tell go to ``metadata.jsonl``. If anything stops the extraction, what it
    wrote is removed; if it is killed, ``out`` keeps a file named ``.halfbyte-unfinished``. Damaged samples
    are left out and listed.

    Args:
        path: folder of the data set.
        out: folder for the files; made if missing, otherwise it must be empty.
        fidelity: level to read up to; None for full.
        original: give JPEGs their metadata (EXIF, ICC, XMP, comments) and trailing bytes back; full fidelity
            only. Pixels and metadata are the source's; the scans stay progressive.
        progress: called after every record.

    Returns:
        A report; ``report.failed`` lists what is damaged.

    Raises:
        NotADataset, UnsupportedFormat: the data set cannot be opened.
        CorruptRecord: so, or a key is no safe file name.
        FidelityError: no such fidelity, or ``original`` at less than full.
        OutputExists: ``out`` holds something.
    """
    records = open_records(LocalStore(Path(path)))
    fidelity = records.check_fidelity(fidelity)
    if original and fidelity != records.manifest.num_levels:
        raise FidelityError(
            f"original files at fidelity {fidelity} of {records.manifest.num_levels}: metadata is restored "
            f"at full fidelity only; leave the fidelity out, or do not ask for originals"
        )
    _refuse_unsafe_keys(records)
    folder = OutputFolder(Path(out), frozenset({METADATA_NAME, METADATA_BESIDE}))
    folder.claim()
    try:
        work = _Extraction(records, folder, fidelity, original)
        metadata = work.run(progress)
        folder.finish()
    except BaseException:
        folder.undo()
        raise
    return ExtractReport(
        path=os.fspath(path),
        out=os.fspath(out),
        fidelity=fidelity,
        original=original,
        num_files=work.num_files,
        bytes_written=work.bytes_written,
        metadata=metadata,
        renamed=tuple(work.renamed),
        failed=tuple(work.failed),
    )


def _refuse_unsafe_keys(records: RecordSet) -> None:
    """Before anything is written: a data set may come from anywhere."""
    for record in range(len(records.index)):
        try:
            _, table = records.table(record)
        except RecordError:
            continue  # damaged: extraction will say so
        for key in table.keys.to_pylist():
            reason = unsafe_key(key)
            if reason:
                raise CorruptRecord(
                    f"{records.where(record)}: a sample is named {key!r}, which {reason}; expected a "
                    f"relative path such as 'class/name.jpg'; nothing was written: do not trust this data set"
                )


@dataclass
class _Extraction:
    """One run: what it reads, where it writes, what it has done."""

    records: RecordSet
    folder: OutputFolder
    fidelity: int
    original: bool
    num_files: int = 0
    bytes_written: int = 0
    renamed: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def run(self, progress: ProgressCallback | None) -> bool:
        """Write everything; whether there is a metadata.jsonl."""
        index = self.records.index
        section = -1 if self.original else self.fidelity
        total_bytes, done_bytes = int(index.ends[:, section].sum()), 0
        with closing(MetadataFile(self.folder.root, self.records.manifest.classes)) as metadata:
            for number in range(len(index)):
                self._extract_record(number, metadata)
                done_bytes += int(index.ends[number, section])
                if progress:
                    done = int(index.starts[number + 1])
                    progress(Progress(done_bytes, total_bytes, done, len(self.records)))
            return metadata.finish()

    def _extract_record(self, number: int, metadata: MetadataFile) -> None:
        try:
            record = self.records.record(number, self.fidelity, extras=self.original)
        except RecordError as error:
            self._rescue(number, error, metadata)
            return
        for index in range(len(record)):
            self._extract_sample(record, index, metadata)

    def _rescue(self, number: int, cause: RecordError, metadata: MetadataFile) -> None:
        """Extract those samples of a damaged record whose own checksums are right."""
        where = self.records.where(number)
        try:
            data = self.records.store.read(record_name(number))
            row, dataset_id = self.records.index.row(number), self.records.manifest.dataset_id
            header, table = parse_table(data, where=where, row=row, dataset_id=dataset_id)
        except (RecordError, OSError):
            self.failed.append((record_name(number), str(cause)))
            return
        record = Record(where, header, table, self.fidelity, memoryview(data))
        damaged_extras = _section_error(record) if self.original else ""
        for index in range(len(record)):
            key = table.keys[index].as_py()
            try:
                check_slices(
                    record.slices(index),
                    table.checksums[index, : self.fidelity],
                    table.lengths[index, : self.fidelity],
                    where=f"{where}: sample {index} ({key})",
                )
            except RecordError as error:
                self.failed.append((key, str(error)))
                continue
            if damaged_extras and table.metadata[index] + table.trailing[index]:
                self.failed.append((key, damaged_extras))
                continue
            self._extract_sample(record, index, metadata)

    def _extract_sample(self, record: Record, index: int, metadata: MetadataFile) -> None:
        key = record.table.keys[index].as_py()
        try:
            path, size = self.folder.write(key, [self._file(record, index)])
        except OSError as error:
            if not is_name_too_long(error):
                raise
            self.failed.append((key, "the name is too long for this file system; extract to another one"))
            return
        self.num_files += 1
        self.bytes_written += size
        if path != key:
            self.renamed.append((key, path))
        metadata.add(path, record.fields(index))

    def _file(self, record: Record, index: int) -> bytes | memoryview:
        slices = record.slices(index)
        if record.table.codec[index] == CODEC_RAW:
            return slices[0]
        if self.original:
            metadata, trailing = record.extras(index)
            return restore_jpeg(slices, metadata=metadata, trailing=trailing)
        return assemble_jpeg(slices, orientation=int(record.table.orientation[index]))


def _section_error(record: Record) -> str:
    try:
        check_section(record.data, record.header.extras, where=record.where, verify=True)
    except RecordError as error:
        return str(error)
    return ""
