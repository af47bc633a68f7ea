"""What is done so far of a conversion, so that the same command goes on after it was killed.

``OUT/.convert`` holds the plan (settings and sources as they were) and one small file a record that is
finished. Each is written atomically, and after what it speaks of; so whatever it says is true at any moment.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from halfbyte.conversion.fingerprint import Fingerprint, describe_changes
from halfbyte.errors import ConvertError, RecordError
from halfbyte.format.header import header_bytes, parse_header
from halfbyte.format.index import IndexRow, record_name
from halfbyte.storage.local import LocalStore, write_atomically

__all__ = ["FOLDER", "PLAN_NAME", "Journal", "Outcome"]

FOLDER = ".convert"
PLAN_NAME = "plan.json"
_SOURCES_NAME = "sources.arrow"


@dataclass(frozen=True)
class Outcome:
    """What became of the sources of one record.

    Attributes:
        row: its row of the index.
        codecs: samples by the name of their codec.
        source_bytes: size of the files that became its samples.
        written: JPEGs that are progressive now.
        passthrough, encoded: others, by reason.
        stored_jpegs: (key, reason) of the JPEGs among the passthrough.
        refused: (key, reason) of the files that are not in it.
    """

    row: IndexRow
    codecs: Mapping[str, int]
    source_bytes: int
    written: int
    passthrough: Mapping[str, int]
    encoded: Mapping[str, int]
    stored_jpegs: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str], ...]

    def to_json(self) -> bytes:
        row = {"num_samples": self.row.num_samples, "ends": self.row.ends, "checksum": self.row.checksum}
        return json.dumps({**vars(self), "row": row}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Outcome:
        body = json.loads(text)
        row = body.pop("row")
        for name in ("stored_jpegs", "refused"):
            body[name] = tuple((key, reason) for key, reason in body[name])
        return cls(row=IndexRow(row["num_samples"], tuple(row["ends"]), row["checksum"]), **body)


@dataclass(frozen=True)
class Journal:
    """The journal of the conversion into ``out``."""

    out: Path

    @property
    def folder(self) -> Path:
        return self.out / FOLDER

    def begin(self, fingerprint: Fingerprint, *, version: str) -> None:
        """Write down what is to be converted and by which release, or make sure that it is what is there.

        Raises:
            ConvertError: the folder holds a conversion of something else; says what is different.
        """
        fingerprint = replace(fingerprint, settings={**fingerprint.settings, "halfbyte": version})
        if (self.folder / PLAN_NAME).exists():
            changes = describe_changes(self._read_plan(), fingerprint)
            if changes:
                raise ConvertError(
                    f"{self.out}: holds an unfinished conversion of something else: {changes}; undo the "
                    f"change to go on with it, or delete {self.out} to start again"
                )
            return
        table = pa.table({"key": fingerprint.keys, "state": pa.array(fingerprint.states)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        write_atomically(self.folder / _SOURCES_NAME, [sink.getvalue().to_pybytes()])
        plan = {"settings": fingerprint.settings, "identity": fingerprint.identity.hex()}
        write_atomically(self.folder / PLAN_NAME, [json.dumps(plan, indent=1).encode()])

    def _read_plan(self) -> Fingerprint:
        try:
            plan = json.loads((self.folder / PLAN_NAME).read_bytes())
            with pa.ipc.open_stream((self.folder / _SOURCES_NAME).read_bytes()) as stream:
                table = stream.read_all()
            return Fingerprint(
                plan["settings"],
                bytes.fromhex(plan["identity"]),
                table.column("key").combine_chunks(),
                np.asarray(table.column("state").to_numpy(), np.uint64),
            )
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise ConvertError(
                f"{self.folder}: the journal of an unfinished conversion cannot be read ({error}); delete "
                f"{self.out} to start again"
            ) from error

    def remove_leftovers(self, names: Iterable[str]) -> None:
        """Delete what a killed process left of files that it was about to write."""
        for name in names:
            (self.out / f"{name}.part").unlink(missing_ok=True)
        for folder in (self.folder, self.out / "records"):
            for path in folder.glob("*.part"):
                path.unlink(missing_ok=True)

    def finish_record(self, number: int, outcome: Outcome) -> None:
        """Write down that a record is done; its file must be on the disk already."""
        write_atomically(self._path(number), [outcome.to_json()])

    def finished(self, number: int, *, dataset_id: bytes) -> Outcome | None:
        """What became of a record, if it is done and its file is still what was written."""
        try:
            outcome = Outcome.from_json(self._path(number).read_bytes())
            ends = outcome.row.ends
            store = LocalStore(self.out)
            head = store.read(record_name(number), 0, header_bytes(len(ends) - 2))
            header = parse_header(head, where=store.describe(record_name(number)))
            size = (self.out / record_name(number)).stat().st_size
        except (OSError, ValueError, KeyError, TypeError, RecordError):
            return None
        whole = IndexRow.of(header) == outcome.row and size == ends[-1] and header.dataset_id == dataset_id
        return outcome if whole else None

    def remove(self) -> None:
        """Delete the journal, the plan first: without it nothing here is taken for a conversion."""
        (self.folder / PLAN_NAME).unlink(missing_ok=True)
        for path in self.folder.iterdir():
            path.unlink(missing_ok=True)
        # Somebody else may just have put a lock there.
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:05d}.json"
