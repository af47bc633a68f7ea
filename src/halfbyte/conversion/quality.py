"""How close each fidelity comes to the original, on a sample of the images."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from halfbyte._native import Limits, ms_ssim
from halfbyte.codecs.pixels import decode_pixels
from halfbyte.format.manifest import Quality
from halfbyte.format.sample_table import CODEC_JPEG
from halfbyte.records.record_set import RecordSet

__all__ = ["measure_quality"]

_NUM_SAMPLES = 48
_MAX_PIXELS = 2_000_000
# Six digits are more than the sampling supports, and keep the last bits of a sum out of dataset.json.
_DIGITS = 6


def measure_quality(records: RecordSet, *, workers: int, limits: Limits) -> Quality | None:
    """MS-SSIM of every fidelity against the highest, over up to 48 images spread evenly over the data set.

    Of images over 2 megapixels, the middle is measured; and there are fewer of them, so that the cost stays
    that of 48 images of that size.

    Returns:
        Mean and 10th percentile a fidelity, or None if no sample is progressive.
    """
    chosen = _afford(list(_spread(records)))
    if not chosen:
        return None
    with ThreadPoolExecutor(workers, "halfbyte-quality") as pool:
        rows = list(
            pool.map(lambda number: _compare(records, number, limits), (number for number, _ in chosen))
        )
    values = np.array(rows, np.float64)
    mean, p10 = values.mean(axis=0), np.percentile(values, 10, axis=0)
    return Quality("ms-ssim", len(rows), _rounded(mean), _rounded(p10))


def _rounded(values: npt.NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(round(value, _DIGITS) for value in values.tolist())


def _spread(records: RecordSet) -> Iterator[tuple[int, int]]:
    """(number, pixels) of the first progressive sample in each of 48 equal stretches, within one record."""
    count = len(records)
    stretches = min(_NUM_SAMPLES, count)
    for stretch in range(stretches):
        start, stop = count * stretch // stretches, count * (stretch + 1) // stretches
        record, first = records.locate((start + stop) // 2)
        _, table = records.table(record)
        found = np.flatnonzero(table.codec[first : first + stop - (start + stop) // 2] == CODEC_JPEG)
        if found.size:
            index = first + int(found[0])
            number = int(records.index.starts[record]) + index
            yield number, int(table.width[index]) * int(table.height[index])


def _afford(samples: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Every other sample, until all together have few enough pixels."""
    while len(samples) > 1 and sum(pixels for _, pixels in samples) > _NUM_SAMPLES * _MAX_PIXELS:
        samples = samples[::2]
    return samples


def _compare(records: RecordSet, number: int, limits: Limits) -> list[float]:
    sample = records.sample(number)

    def decode(fidelity: int) -> npt.NDArray[np.uint8]:
        pixels = decode_pixels(
            sample.codec,
            sample.slices[:fidelity],
            size=(sample.width, sample.height),
            orientation=sample.orientation,
            limits=limits,
            where=sample.key,
        )
        return _middle(pixels)

    best = decode(len(sample.slices))
    values: list[float] = []
    for fidelity in range(1, len(sample.slices)):
        # A level that is empty for this image changes nothing.
        unchanged = values and not len(sample.slices[fidelity - 1])
        values.append(values[-1] if unchanged else ms_ssim(decode(fidelity), best))
    return [*values, 1.0]


def _middle(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    height, width = pixels.shape[:2]
    scale = (_MAX_PIXELS / (height * width)) ** 0.5
    if scale >= 1:
        return pixels
    rows, columns = max(1, int(height * scale)), max(1, int(width * scale))
    top, left = (height - rows) // 2, (width - columns) // 2
    return np.ascontiguousarray(pixels[top : top + rows, left : left + columns])
