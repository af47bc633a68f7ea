"""From the stored bytes of many samples to one batch of pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfbyte import _native
from halfbyte.codecs.orientation import TURNED
from halfbyte.codecs.pixels import decode_error, is_jpeg, jpeg_size
from halfbyte.codecs.raw import decode_other
from halfbyte.errors import HalfbyteError
from halfbyte.format.sample_table import CODEC_RAW
from halfbyte.loader.counters import Counters
from halfbyte.loader.failures import FailedSample, OnError, leave_out
from halfbyte.loader.transforms import Transform, Views, plan_views
from halfbyte.records.record_set import StoredSample

__all__ = ["Allocate", "BatchDecoder", "Pixels"]

Pixels = npt.NDArray[np.uint8] | npt.NDArray[np.float32]
Allocate = Callable[[tuple[int, ...], type[np.uint8] | type[np.float32]], Pixels]
"""Makes the array that a batch is decoded into, given its shape and dtype."""


@dataclass
class BatchDecoder:
    """Decodes samples by a transform; what it does with a failing one is ``on_error``.

    Attributes:
        transform: crop, flip, normalization, colour, layout.
        seed: of the random choices, with epoch and sample number.
        on_error: "raise", "skip" or a function.
        counters: what decoding takes, and errors, are added here.
        limits: refuse images over these.
        pool: native threads that share a batch.
    """

    transform: Transform
    seed: int
    on_error: OnError
    counters: Counters
    limits: _native.Limits
    pool: _native.Pool
    allocate: Allocate = np.empty

    def batch(self, samples: Sequence[StoredSample], epoch: int) -> tuple[Pixels, list[int]]:
        """Decode into one array.

        Returns:
            The pixels, (m, C, H, W) or (m, H, W, C), and which of the samples (indices into the argument,
            ascending) they are of: all, unless ``on_error`` left some out.

        Raises:
            ValueError: without a crop, images of different sizes.
            HalfbyteError: a sample failed and ``on_error`` is "raise".
        """
        self.counters.begin_decode()
        decoded = size = 0
        try:
            pixels, kept = self._batch(samples, epoch)
            decoded = len(kept)
            size = sum(len(part) for i in kept for part in samples[i].slices)
        finally:
            self.counters.end_decode(decoded, size)
        return pixels, kept

    def _batch(self, samples: Sequence[StoredSample], epoch: int) -> tuple[Pixels, list[int]]:
        prepared = [self._prepare(sample) for sample in samples]
        good = [i for i, p in enumerate(prepared) if p is not None]
        chosen = [(samples[i], p) for i in good if (p := prepared[i]) is not None]
        height, width = self._output_size(chosen)
        channels = self.transform.channels
        planes = self.transform.layout == "CHW"
        shape = (len(chosen), channels, height, width) if planes else (len(chosen), height, width, channels)
        out = self.allocate(shape, np.float32 if self.transform.normalize else np.uint8)
        failed = self._decode(chosen, epoch, out if planes else out.transpose(0, 3, 1, 2))
        kept = [j for j in range(len(chosen)) if j not in failed]
        for j, error in sorted(failed.items()):
            self._leave_out(chosen[j][0], error)
        return (out[kept] if failed else out), [good[j] for j in kept]

    def whole(self, sample: StoredSample, epoch: int) -> Pixels:
        """Decode one sample to an array of its own; the error is raised whatever ``on_error`` says."""
        strict = BatchDecoder(
            self.transform, self.seed, "raise", self.counters, self.limits, self.pool, self.allocate
        )
        pixels, _ = strict.batch([sample], epoch)
        image: Pixels = pixels[0]
        return image

    def _prepare(self, sample: StoredSample) -> _Prepared | None:
        try:
            return _prepare(sample, gray=self.transform.color == "gray", limits=self.limits)
        except HalfbyteError as error:
            self._leave_out(sample, error)
            return None

    def _output_size(self, chosen: Sequence[tuple[StoredSample, _Prepared]]) -> tuple[int, int]:
        if self.transform.output_size is not None:
            return self.transform.output_size
        sizes = {(p.height, p.width) for _, p in chosen}
        if len(sizes) > 1:
            (a, b), (c, d) = sorted(sizes)[:2]
            raise ValueError(
                f"a batch of images of different sizes ({b} x {a} and {d} x {c} pixels); "
                f"give the transform a crop, or take samples one by one"
            )
        return next(iter(sizes), (0, 0))

    def _decode(
        self, chosen: Sequence[tuple[StoredSample, _Prepared]], epoch: int, out: Pixels
    ) -> dict[int, Exception]:
        if not chosen:
            return {}
        views = plan_views(
            self.transform,
            [p.width for _, p in chosen],
            [p.height for _, p in chosen],
            seed=self.seed,
            epoch=epoch,
            samples=[s.number for s, _ in chosen],
        )
        lut = self.transform.normalize.table() if self.transform.normalize else None
        for j, (_, p) in enumerate(chosen):
            if p.pixels is not None:
                _native.resample(
                    p.pixels,
                    box=tuple(views.boxes[j].tolist()),
                    clip=views.clip,
                    orientation=1,
                    flip=bool(views.flip[j]),
                    out=out[j],
                    lut=lut,
                )
        return self._decode_jpegs(chosen, views, out, lut)

    def _decode_jpegs(
        self,
        chosen: Sequence[tuple[StoredSample, _Prepared]],
        views: Views,
        out: Pixels,
        lut: npt.NDArray[np.float32] | None,
    ) -> dict[int, Exception]:
        jpegs = [j for j, (_, p) in enumerate(chosen) if p.pixels is None]
        if not jpegs:
            return {}
        direct = len(jpegs) == len(chosen)
        target = out if direct else np.empty((len(jpegs), *out.shape[1:]), out.dtype)
        slices = [part for j in jpegs for part in chosen[j][0].slices]
        ranges = np.array([[i, 0, len(part)] for i, part in enumerate(slices)], np.int64)
        counts = [len(chosen[j][0].slices) for j in jpegs]
        reports = _native.decode(
            self.pool,
            slices,
            ranges,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            boxes=views.boxes[jpegs],
            clip=views.clip,
            orientation=np.array([chosen[j][0].orientation for j in jpegs], np.uint8),
            flip=views.flip[jpegs].astype(np.uint8),
            sizes=np.array([chosen[j][1].stored for j in jpegs], np.int64),
            out=target,
            lut=lut,
            limits=self.limits,
            min_scale_ratio=self.transform.dct_scaling or 0.0,
        )
        if not direct:
            out[jpegs] = target
        return {
            jpegs[i]: decode_error(name, f"{_where(chosen[jpegs[i]][0])}: {message}")
            for i, name, message in reports
        }

    def _leave_out(self, sample: StoredSample, error: Exception) -> None:
        failed = FailedSample(sample.number, sample.record, sample.index, sample.key, error)
        leave_out(failed, self.on_error, self.counters)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Upright size of an image, its size as stored, and its pixels where Pillow had to decode them."""

    width: int
    height: int
    stored: tuple[int, int]
    pixels: npt.NDArray[np.uint8] | None = None


def _where(sample: StoredSample) -> str:
    return f"record {sample.record}, sample {sample.index} ({sample.key})"


def _prepare(sample: StoredSample, *, gray: bool, limits: _native.Limits) -> _Prepared:
    if not is_jpeg(sample.codec, sample.slices):
        pixels = decode_other(sample.slices[0], gray=gray, limits=limits, where=_where(sample))
        height, width = pixels.shape[:2]
        return _Prepared(width, height, (width, height), pixels)
    stored = (sample.width, sample.height)
    if sample.codec == CODEC_RAW and 0 in stored:
        stored = jpeg_size(sample.slices[0], limits=limits, where=_where(sample))
    width, height = reversed(stored) if sample.orientation >= TURNED else stored
    return _Prepared(width, height, stored)
