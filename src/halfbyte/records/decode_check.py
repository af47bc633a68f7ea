"""Does every sample of a record decode? Answers with the failures, keeps no pixels."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from halfbyte import _native
from halfbyte.codecs.orientation import TURNED
from halfbyte.codecs.pixels import decode_error, decode_pixels
from halfbyte.errors import ImageError
from halfbyte.format.sample_table import CODEC_RAW
from halfbyte.records.record import Record

__all__ = ["DecodeCheck", "sample_where"]

# Samples given to the native pool at once: enough to keep its threads busy, few enough for smooth progress.
_BATCH = 64
# Every coefficient is decoded from its bits, whatever the size; small outputs spare the inverse transform.
_SIDE = 8


def sample_where(record: Record, index: int) -> str:
    """How messages call one sample of a record."""
    return f"{record.where}: sample {index} ({record.table.keys[index].as_py()})"


class DecodeCheck:
    """Decodes samples on all cores that this process may use."""

    def __init__(self) -> None:
        self._pool = _native.Pool(len(os.sched_getaffinity(0)))
        self._limits = _native.Limits()
        self._out = np.empty((_BATCH, 3, _SIDE, _SIDE), np.uint8)

    def failures(
        self, record: Record, indices: Sequence[int], fidelity: int
    ) -> Iterator[tuple[int, Exception]]:
        """Decode samples at ``fidelity``; yield the index in the record and the error of those that fail."""
        jpeg = [i for i in indices if record.table.codec[i] != CODEC_RAW]
        for start in range(0, len(jpeg), _BATCH):
            yield from self._native_failures(record, jpeg[start : start + _BATCH], fidelity)
        for index in indices:
            if record.table.codec[index] == CODEC_RAW:
                error = self._raw_failure(record, index)
                if error is not None:
                    yield index, error

    def _native_failures(
        self, record: Record, indices: Sequence[int], fidelity: int
    ) -> Iterator[tuple[int, Exception]]:
        table = record.table
        ranges = np.concatenate([record.slice_ranges(i, fidelity) for i in indices])
        starts, stops = ranges.T
        slices = np.stack([np.zeros_like(starts), starts, stops - starts], axis=1)
        sizes = np.stack([table.width[indices], table.height[indices]], axis=1).astype(np.int64)
        orientation = np.ascontiguousarray(table.orientation[indices])
        upright = np.where(orientation[:, None] >= TURNED, sizes[:, ::-1], sizes).astype(np.float64)
        found = _native.decode(
            self._pool,
            [record.data],
            np.ascontiguousarray(slices),
            np.arange(len(indices) + 1, dtype=np.int64) * fidelity,
            boxes=np.concatenate([np.zeros_like(upright), upright], axis=1),
            clip=False,
            orientation=orientation,
            flip=np.zeros(len(indices), np.uint8),
            sizes=np.ascontiguousarray(sizes),
            out=self._out[: len(indices)],
            lut=None,
            limits=self._limits,
            min_scale_ratio=1,
        )
        for position, name, message in found:
            index = indices[position]
            yield index, decode_error(name, f"{sample_where(record, index)}: {message}")

    def _raw_failure(self, record: Record, index: int) -> Exception | None:
        table = record.table
        start, stop = record.slice_ranges(index, 1)[0].tolist()
        try:
            decode_pixels(
                CODEC_RAW,
                [record.data[start:stop]],
                size=(int(table.width[index]), int(table.height[index])),
                orientation=int(table.orientation[index]),
                limits=self._limits,
                where=sample_where(record, index),
            )
        except (ImageError, MemoryError) as error:
            return error
        return None
