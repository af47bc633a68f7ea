"""Images made on the spot, and data sets made of them without the converter."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image

from halfbyte.codecs.encoded import EncodedSample
from halfbyte.format.checksum import section_checksum
from halfbyte.format.index import INDEX_NAME, encode_index, record_name
from halfbyte.format.manifest import MANIFEST_NAME, Field, Level, Manifest, serialize_manifest
from halfbyte.records.writer import encode_record
from halfbyte.storage.local import write_atomically

NUM_LEVELS = 10
DATASET_ID = bytes(range(16))


def photo(seed: int, *, width: int = 64, height: int = 48, channels: int = 3) -> Image.Image:
    """Smooth colours with some texture: something that JPEG is made for."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width] / max(width, height)
    planes = []
    for _ in range(channels):
        a, b, c, d = random.uniform(-6, 6, 4)
        planes.append(
            np.sin(a * x + b * y) + 0.5 * np.sin(4 * c * x * y + d) + random.normal(0, 0.1, x.shape)
        )
    stack = np.stack(planes, axis=-1)
    pixels = np.clip(128 + 70 * stack, 0, 255).astype(np.uint8)
    return Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels)


def jpeg(image: Image.Image, **options: object) -> bytes:
    """A JPEG file by Pillow."""
    sink = io.BytesIO()
    image.save(sink, "jpeg", **{"quality": 90, **options})
    return sink.getvalue()


def scan_ends(data: bytes) -> list[int]:
    """Where each scan of a JPEG ends: a walk by segment lengths, independent of the library's."""
    ends, at = [], 2
    while data[at + 1] != 0xD9:
        is_scan = data[at + 1] == 0xDA
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if is_scan:
            while not (data[at] == 0xFF and data[at + 1] != 0 and not 0xD0 <= data[at + 1] <= 0xD7):
                at += 1
            ends.append(at)
    return ends


def progressive_slices(image: Image.Image, **options: object) -> tuple[bytes, ...]:
    """The scans of a progressive JPEG that Pillow made, the tables before each with it."""
    data = jpeg(image, progressive=True, **options)
    ends = [0, *scan_ends(data)]
    return tuple(data[a:b] for a, b in pairwise(ends))


def sample(number: int, **size: int) -> EncodedSample:
    """A sample whose label is its number."""
    image = photo(number, **size)
    return EncodedSample(
        key=f"photos/{number:04d}.jpg",
        codec=1,
        slices=progressive_slices(image),
        width=image.width,
        height=image.height,
        orientation=1,
        source_bytes=1000 + number,
        fields={"label": number},
    )


def build_dataset(path: Path, sizes: Sequence[int], **size: int) -> Path:
    """A data set whose records have so many samples; sample i has label i."""
    numbers = iter(range(sum(sizes)))
    return write_dataset(path, [[sample(next(numbers), **size) for _ in range(count)] for count in sizes])


def write_dataset(path: Path, records: Sequence[Sequence[EncodedSample]]) -> Path:
    """A data set of these samples."""
    schema = pa.schema([pa.field("label", pa.int64())])
    (path / "records").mkdir(parents=True)
    rows = []
    for record, samples in enumerate(records):
        encoded = encode_record(samples, schema=schema, num_levels=NUM_LEVELS, dataset_id=DATASET_ID)
        write_atomically(path / record_name(record), encoded.parts)
        rows.append(encoded.row)
    write_description(path, rows)
    return path


def write_description(path: Path, rows: list) -> None:
    """index.arrow and dataset.json for the records at hand."""
    index = encode_index(rows, NUM_LEVELS)
    write_atomically(path / INDEX_NAME, [index])
    ends = [row.ends for row in rows]
    manifest = Manifest(
        dataset_id=DATASET_ID,
        num_samples=sum(row.num_samples for row in rows),
        num_records=len(rows),
        classes=None,
        fields=(Field("label", "int64"),),
        levels=tuple(
            Level(f"scan {k}", sum(end[k] - end[k - 1] for end in ends)) for k in range(1, NUM_LEVELS + 1)
        ),
        scan_script={"name": "standard"},
        source_bytes=0,
        overhead_bytes=sum(end[0] for end in ends),
        extras_bytes=0,
        codecs={"jpeg": sum(row.num_samples for row in rows)},
        quality=None,
        index_bytes=len(index),
        index_checksum=section_checksum(index),
    )
    write_atomically(path / MANIFEST_NAME, [serialize_manifest(manifest)])
