"""What is fuzzed: how a case is made from a random generator, and what is done with it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from golden_parts import ENTRY_FIELDS, FIELDS, Parts, read_stream, sign_manifest, xxh3
from mutations import EDGES, mutated
from tables import odd_table

from halfbyte.format.buffers import Buffer
from halfbyte.format.header import parse_header
from halfbyte.format.index import INDEX_NAME, record_name
from halfbyte.format.manifest import MANIFEST_NAME
from halfbyte.records.record import parse_record
from halfbyte.records.record_set import open_records

__all__ = ["TARGETS", "Target"]

VALID = Path(__file__).parents[1] / "golden" / "valid"
SEEDS = [path.read_bytes() for path in sorted(VALID.glob("*/records/*.pcr"))]


@dataclass(frozen=True)
class Target:
    """``make`` draws an input; ``run`` reads it as the product would, and may raise errors of halfbyte."""

    make: Callable[[random.Random], bytes]
    run: Callable[[bytes], None]


def make_header(rng: random.Random) -> bytes:
    """A record with damaged header or directory; most have a right checksum all the same."""
    record = rng.choice(SEEDS)
    if rng.random() < 0.2:
        return mutated(record, rng, other=rng.choice(SEEDS))
    parts = Parts.of(record)
    for _ in range(rng.randint(1, 3)):
        fields, where = (
            (FIELDS[1:-1], parts.header) if rng.random() < 0.4 else (ENTRY_FIELDS, rng.choice(parts.entries))
        )
        name, code = rng.choice(fields)
        if not isinstance(where[name], int):
            continue
        bits = {"H": 16, "I": 32, "Q": 64}[code]
        near = where[name] + rng.choice((-8, -1, 1, 8))
        where[name] = rng.choice((near, rng.choice(EDGES), rng.getrandbits(bits))) % (1 << bits)
    if rng.random() < 0.2:
        rng.choice((parts.entries.pop, lambda: parts.entries.append(dict(parts.entries[0]))))()
    data = parts.signed()
    return mutated(data[: rng.randrange(len(data) + 1)], rng) if rng.random() < 0.1 else data


def make_table(rng: random.Random) -> bytes:
    """A record with a damaged sample table under right checksums."""
    parts = Parts.of(rng.choice(SEEDS))
    stream = parts.bodies[0]
    if rng.random() < 0.5:
        stream, rows = odd_table(read_stream(stream), rng)
        if rng.random() < 0.8:
            parts.header["num_samples"] = rows
    if rng.random() < 0.7:
        stream = mutated(stream, rng, other=Parts.of(rng.choice(SEEDS)).bodies[0])
    parts.bodies[0] = stream
    return parts.lay_out().signed()


def read_record(data: bytes) -> None:
    """All that can be read of a record, at every fidelity."""
    header = parse_header(data, where="fuzzed")
    for fidelity in {0, 1, header.num_levels}:
        parse_record(data, fidelity=fidelity, where="fuzzed")
    record = parse_record(data, fidelity=header.num_levels, where="fuzzed", extras=True)
    for index in range(len(record)):
        slices = record.slices(index)
        metadata, trailing = record.extras(index)
        assert sum(map(len, slices)) == record.table.lengths[index].sum()
        assert len(metadata) + len(trailing) == record.table.metadata[index] + record.table.trailing[index]
        record.fields(index)
        record.check(index)


@dataclass(frozen=True)
class DictStore:
    """A store in memory."""

    files: dict[str, bytes]

    def read(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path][start:stop]

    def read_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        return [self.read(path, start, stop) for start, stop in ranges]

    def write(self, path: str, parts: Iterable[Buffer]) -> None:
        self.files[path] = b"".join(parts)

    def describe(self, path: str) -> str:
        return f"memory:{path}"


def make_dataset(rng: random.Random) -> bytes:
    """Damaged dataset.json and index, signed again or not, and a zero byte between them."""
    folder = rng.choice(sorted(VALID.iterdir()))
    text, index = (folder / MANIFEST_NAME).read_bytes(), (folder / INDEX_NAME).read_bytes()
    about = json.loads(text)
    if rng.random() < 0.6:
        index = mutated(index, rng)
        about["index"] = {"bytes": len(index), "xxh3": f"{xxh3(index):016x}"}
    if rng.random() < 0.5:
        junk = (None, True, -1, 2**70, 1e300, "", "x", [], {}, [None], [[]], {"name": 1}, *EDGES)
        about[rng.choice(list(about)[:-1])] = rng.choice(junk)
    text = json.dumps(about, indent=2).encode() + b"\n"
    if rng.random() < 0.3:
        text = mutated(text, rng)
    if rng.random() < 0.9 and len(text) > 30:
        text = sign_manifest(text)
    return text + b"\0" + folder.name.encode() + b"\0" + index


def read_dataset(data: bytes) -> None:
    """Opening, and all of the records."""
    text, name, index = data.split(b"\0", 2)
    folder = VALID / ("photos" if b"photos" in name else "example")
    files = {MANIFEST_NAME: text, INDEX_NAME: index}
    files |= {record_name(i): path.read_bytes() for i, path in enumerate(sorted(folder.glob("records/*")))}
    records = open_records(DictStore(files))
    for number in range(len(records.index)):
        records.record(number, extras=True)
    for number in range(len(records)):
        records.sample(number)


TARGETS = {
    "header": Target(make_header, read_record),
    "table": Target(make_table, read_record),
    "dataset": Target(make_dataset, read_dataset),
}
