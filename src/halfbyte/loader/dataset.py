"""The map-style data set: ``ds[i]``, ``ds.__getitems__``; works with any torch DataLoader, needs no torch."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from halfbyte import _native
from halfbyte.codecs.jpeg import assemble_jpeg
from halfbyte.codecs.pixels import decode_pixels
from halfbyte.errors import HalfbyteError
from halfbyte.format.manifest import Level, Quality
from halfbyte.format.sample_table import CODEC_JPEG
from halfbyte.keyed.hashes import check_seed
from halfbyte.loader.counters import Counters
from halfbyte.loader.decoding import BatchDecoder
from halfbyte.loader.failures import FailedSample, OnError, check_on_error, leave_out
from halfbyte.loader.fidelity import Fidelity, describe_fidelity, fidelity_mix
from halfbyte.loader.shared import SharedSettings
from halfbyte.loader.transforms import Transform
from halfbyte.records.record_set import RecordSet, StoredSample

__all__ = ["Dataset", "SampleRequest"]

_UNCHANGED = Transform(layout="HWC")


class SampleRequest(int):
    """A sample's number that also says in which epoch it is asked for.

    A data set's views are keyed by the epoch; a request that carries it needs no state in any worker.
    """

    epoch: int

    def __new__(cls, number: int, epoch: int) -> SampleRequest:
        request = super().__new__(cls, number)
        request.epoch = epoch
        return request

    def __reduce__(self) -> tuple[type[SampleRequest], tuple[int, int]]:
        return SampleRequest, (int(self), self.epoch)


class Dataset:
    """An opened data set, sample by sample.

    ``ds[i]`` is a dict: ``"image"`` and the fields. Without a transform the image is upright, full-size,
    uint8 (H, W, 3). Each sample is read by itself and every byte is verified; to read whole records in
    sequence (what disks and object stores like), iterate by ``Loader`` or ``IterableDataset``.

    Args:
        records: where it lies (:func:`halfbyte.open` makes this).
        fidelity: k for levels 1 … k, a mixture ``{k: weight}`` drawn by record and epoch, None for full.
        transform: crop, flip, normalization; None for full-size pixels.
        fields: which fields come with the image; None for all. ``"_key"`` and ``"_number"`` are there too.
        on_error: "raise", "skip" (``__getitems__`` leaves the sample out and counts it) or a function.
        seed: of random crops, flips and mixtures.
        limits: refuse images over these.
    """

    def __init__(
        self,
        records: RecordSet,
        *,
        fidelity: Fidelity = None,
        transform: Transform | None = None,
        fields: Sequence[str] | None = None,
        on_error: OnError = "raise",
        seed: int = 0,
        limits: _native.Limits | None = None,
    ) -> None:
        self.records = records
        self.transform = transform or _UNCHANGED
        self.fields = _check_fields(fields, self.schema)
        self.on_error = check_on_error(on_error)
        self.seed = check_seed(seed)
        self.limits = limits or _native.Limits()
        self.counters = Counters()
        self.settings = SharedSettings(fidelity_mix(fidelity, self.num_levels))
        self._warned = False
        records.meter = self.counters

    def __len__(self) -> int:
        return len(self.records)

    @property
    def schema(self) -> dict[str, str]:
        """Arrow type of each field by name."""
        return {field.name: field.type for field in self.records.manifest.fields}

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Class names, where ``label`` i means ``classes[i]``; None if there are no classes."""
        return self.records.manifest.classes

    @property
    def levels(self) -> tuple[Level, ...]:
        """Name and bytes of each level; fidelity k reads the first k."""
        return self.records.manifest.levels

    @property
    def num_levels(self) -> int:
        """The highest fidelity: the original images."""
        return self.records.manifest.num_levels

    @property
    def quality(self) -> Quality | None:
        """What convert measured of each fidelity against full; None if it was told not to."""
        return self.records.manifest.quality

    def bytes_at(self, fidelity: int) -> int:
        """Bytes that one epoch at this fidelity reads."""
        return self.records.manifest.bytes_at(self.records.check_fidelity(fidelity))

    @property
    def fidelity(self) -> int | dict[int, float]:
        """What samples are read at; setting it reaches DataLoader workers that are already running."""
        return describe_fidelity(self.settings.mix)

    @fidelity.setter
    def fidelity(self, value: int | Mapping[int, float] | None) -> None:
        self.settings.mix = fidelity_mix(value, self.num_levels)

    def set_epoch(self, epoch: int) -> None:
        """The epoch that views are drawn for when plain numbers are asked; workers see it at once."""
        self.settings.epoch = epoch

    def __getitem__(self, number: int) -> dict[str, Any]:
        """One sample; errors are raised whatever ``on_error`` says."""
        self._warn_of_repeats([number])
        sample = self._stored(number)
        image = self._decoder().whole(sample, self._epoch(number))
        return {"image": image, **self.values(sample)}

    def __getitems__(self, numbers: Iterable[int]) -> list[dict[str, Any]]:
        """Several samples, decoded together; fewer than asked if ``on_error`` left some out."""
        asked = list(numbers)
        self._warn_of_repeats(asked)
        samples: list[StoredSample] = []
        for number in asked:
            try:
                samples.append(self._stored(number))
            except (HalfbyteError, OSError) as error:
                record, index = self.records.locate(number)
                failed = FailedSample(number % len(self), record, index, "", error)
                leave_out(failed, self.on_error, self.counters)
        decoder = self._decoder()
        epoch = self._epoch(asked[0]) if asked else 0
        if self.transform.output_size is None:
            # Each in an array of its own: their sizes differ.
            alone = [decoder.batch([sample], epoch) for sample in samples]
            kept = [i for i, (_, good) in enumerate(alone) if good]
            images = [pixels[0] for pixels, good in alone if good]
        else:
            pixels, kept = decoder.batch(samples, epoch)
            images = list(pixels)
        self.counters.add(samples=len(kept))
        return [{"image": image, **self.values(samples[i])} for image, i in zip(images, kept, strict=True)]

    @overload
    def read(self, number: int, fidelity: int | None = None, *, decode: Literal[False] = False) -> bytes: ...
    @overload
    def read(
        self, number: int, fidelity: int | None = None, *, decode: Literal[True]
    ) -> npt.NDArray[np.uint8]: ...
    def read(
        self, number: int, fidelity: int | None = None, *, decode: bool = False
    ) -> bytes | npt.NDArray[np.uint8]:
        """One sample's file at a fidelity, or its pixels.

        Args:
            number: of the sample.
            fidelity: None for the original.
            decode: False for the bytes of a file that any decoder opens (a JPEG, or the file that was stored
                as it came); True for upright pixels, uint8 (H, W, 3).
        """
        sample = self.records.sample(number, fidelity)
        if decode:
            return decode_pixels(
                sample.codec,
                sample.slices,
                size=(sample.width, sample.height),
                orientation=sample.orientation,
                limits=self.limits,
                where=f"sample {number} ({sample.key})",
            )
        if sample.codec == CODEC_JPEG:
            return assemble_jpeg(sample.slices, orientation=sample.orientation)
        return bytes(sample.slices[0])

    def values(self, sample: StoredSample) -> dict[str, Any]:
        """The asked fields of a sample."""
        return {name: sample.value(name) for name in self.fields}

    def decoder(self, *, threads: int, counters: Counters) -> BatchDecoder:
        """A decoder with this data set's settings."""
        return BatchDecoder(
            self.transform, self.seed, self.on_error, counters, self.limits, _native.Pool(threads)
        )

    def _decoder(self) -> BatchDecoder:
        # One native thread: DataLoader workers are processes, and each has its own.
        return self.decoder(threads=1, counters=self.counters)

    def _warn_of_repeats(self, numbers: Sequence[int]) -> None:
        """Say once that a second pass over the data shows every sample in the same view."""
        if self._warned or not self.transform.is_random:
            return
        plain = sum(not isinstance(number, SampleRequest) for number in numbers)
        if plain and self.settings.count_in_epoch(plain) > len(self):
            self._warned = True
            warnings.warn(
                "more samples were taken than there are, all in the views of epoch "
                f"{self.settings.epoch}: random crops and flips repeat. Call set_epoch(epoch) on the data "
                "set before each epoch, or give the DataLoader a halfbyte.BatchSampler, which needs no call",
                stacklevel=3,
            )

    def _epoch(self, number: int) -> int:
        return number.epoch if isinstance(number, SampleRequest) else self.settings.epoch

    def _stored(self, number: int) -> StoredSample:
        record, _ = self.records.locate(number)
        k = self.settings.mix.choose(seed=self.seed, epoch=self._epoch(number), record=record)
        return self.records.sample(number, k)

    def __repr__(self) -> str:
        full = self.bytes_at(self.num_levels)
        classes = f", {len(self.classes)} classes" if self.classes else ""
        where = self.records.store.describe("").rstrip(os.sep)
        return (
            f"halfbyte.Dataset({where!r}: {len(self):,} samples{classes}, fidelity {self.fidelity} "
            f"of {self.num_levels}, {full / 1e6:,.1f} MB in full, fields: {', '.join(self.schema) or 'none'})"
        )


def _check_fields(fields: Sequence[str] | None, schema: Mapping[str, str]) -> tuple[str, ...]:
    if fields is None:
        return tuple(schema)
    if isinstance(fields, str):
        raise ValueError(f"fields is the string {fields!r}, expected a list; pass [{fields!r}]")
    known = {*schema, "_key", "_number"}
    for name in fields:
        if name not in known:
            raise ValueError(f"no field {name!r} in this data set; it has {', '.join(sorted(known))}")
    return tuple(fields)
