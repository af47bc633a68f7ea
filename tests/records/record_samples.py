"""Samples for tests of records: bytes that no decoder sees, and strategies that draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from halfbyte.codecs.encoded import EncodedSample
from halfbyte.format.sample_table import CODEC_JPEG, CODEC_RAW
from halfbyte.records.writer import EncodedRecord, encode_record

SCHEMA = pa.schema([("label", pa.int64()), ("caption", pa.string())])
DATASET_ID = bytes(range(16))


def fake_jpeg(key: str, rng: np.random.Generator, *, num_levels: int, label: int = 0) -> EncodedSample:
    """A sample of codec jpeg with random slices, some of them empty, and random extras."""
    sizes = [int(rng.integers(1, 40)), *(int(rng.integers(0, 60)) for _ in range(num_levels - 1))]
    return EncodedSample(
        key=key,
        codec=CODEC_JPEG,
        slices=tuple(rng.bytes(size) for size in sizes),
        width=int(rng.integers(1, 500)),
        height=int(rng.integers(1, 500)),
        orientation=int(rng.integers(1, 9)),
        source_bytes=sum(sizes),
        metadata=rng.bytes(int(rng.integers(0, 20))),
        trailing=rng.bytes(int(rng.integers(0, 5))),
        fields={"label": label, "caption": f"sample {key}"},
    )


def fake_records(sizes: Sequence[int], *, num_levels: int, seed: int = 0) -> list[list[EncodedSample]]:
    """Records of so many samples each; the label is the number of the sample."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes])
    return [
        [fake_jpeg(f"{r}/{i}.jpg", rng, num_levels=num_levels, label=int(starts[r]) + i) for i in range(size)]
        for r, size in enumerate(sizes)
    ]


def encode(samples: Sequence[EncodedSample], *, num_levels: int, schema: pa.Schema = SCHEMA) -> EncodedRecord:
    """A record of the tests' data set."""
    return encode_record(samples, schema=schema, num_levels=num_levels, dataset_id=DATASET_ID)


def joined(record: EncodedRecord) -> bytes:
    return b"".join(record.parts)


def padded(sample: EncodedSample, num_levels: int) -> list[bytes]:
    """Its slices, empty ones at the end included."""
    slices = [bytes(part) for part in sample.slices]
    return slices + [b""] * (num_levels - len(slices))


@st.composite
def raw_samples(draw: st.DrawFn) -> EncodedSample:
    payload = draw(st.binary(max_size=30))
    return EncodedSample(
        draw(st.text(max_size=8)), CODEC_RAW, (payload,), draw(st.integers(0, 2**32 - 1)), 0, 1,
        draw(st.integers(0, 2**64 - 1)), fields=draw(user_fields()),
    )  # fmt: skip


@st.composite
def jpeg_samples(draw: st.DrawFn, num_levels: int) -> EncodedSample:
    slices = (
        draw(st.binary(min_size=1, max_size=20)),
        *draw(st.lists(st.binary(max_size=9), max_size=num_levels - 1)),
    )
    return EncodedSample(
        key=draw(st.text(max_size=8)),
        codec=CODEC_JPEG,
        slices=slices,
        width=draw(st.integers(1, 65535)),
        height=draw(st.integers(1, 65535)),
        orientation=draw(st.integers(1, 8)),
        source_bytes=draw(st.integers(0, 2**64 - 1)),
        metadata=draw(st.binary(max_size=9)),
        trailing=draw(st.binary(max_size=9)),
        fields=draw(user_fields()),
    )


def user_fields() -> st.SearchStrategy[dict[str, Any]]:
    """Values for SCHEMA; any of them may be missing."""
    return st.fixed_dictionaries(
        {},
        optional={
            "label": st.none() | st.integers(-(2**63), 2**63 - 1),
            "caption": st.none() | st.text(max_size=10),
        },
    )


@st.composite
def records(draw: st.DrawFn) -> tuple[int, list[EncodedSample]]:
    """A number of levels, and samples of both codecs for it."""
    num_levels = draw(st.integers(1, 12))
    kinds = raw_samples() | jpeg_samples(num_levels)
    return num_levels, draw(st.lists(kinds, max_size=6))
