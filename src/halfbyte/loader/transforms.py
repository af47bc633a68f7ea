"""What happens to an image between decoder and batch, as values, and its random choices as a function.

Randomness is a hash of (seed, epoch, sample): a sample gets the same view alone, in a batch, or on resume.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfbyte.keyed.hashes import Stream, derive_keys, keyed_uniforms
from halfbyte.keyed.indices import whole_numbers
from halfbyte.loader.crops import CenterCrop, RandomResizedCrop, height_width

__all__ = ["CenterCrop", "Normalize", "RandomResizedCrop", "Transform", "Views", "plan_views"]


@dataclass(frozen=True)
class Normalize:
    """Make pixels float32: (pixel / 255 - mean) / std, channel by channel.

    Args:
        mean: mean of each channel, in [0, 1] units; a number for each channel of the output.
        std: standard deviation of each channel, in the same units, above 0.

    Raises:
        ValueError: the lengths differ or are not 1 or 3, a number is not finite, or a std is not above 0.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or len(self.mean) not in (1, 3):
            raise ValueError(
                f"Normalize: {len(self.mean)} means and {len(self.std)} deviations, expected 3 of each for "
                f"rgb or 1 of each for gray; pass one of each for every channel"
            )
        if not all(map(math.isfinite, (*self.mean, *self.std))) or min(self.std) <= 0:
            raise ValueError(
                f"Normalize: mean {self.mean}, std {self.std}, expected finite numbers and std above 0; "
                f"compute them from pixels divided by 255"
            )

    def table(self) -> NDArray[np.float32]:
        """Return the value of each pixel level, float32 (channels, 256)."""
        levels = np.arange(256) / 255.0
        mean, std = np.array(self.mean)[:, None], np.array(self.std)[:, None]
        values: NDArray[np.float32] = ((levels - mean) / std).astype(np.float32)
        return values


@dataclass(frozen=True)
class Transform:
    """Everything that is done to an image while it is decoded.

    Args:
        crop: which part of the image, and the size of the output; None keeps each image whole and its size.
        flip: probability of a horizontal flip, in [0, 1].
        normalize: float32 output; None leaves uint8.
        color: "rgb" (3 channels) or "gray" (1 channel, the luma).
        layout: "CHW" (what torch expects) or "HWC".
        dct_scaling: let the inverse DCT shrink large JPEGs to 1/2, 1/4 or 1/8, as long as the box keeps this
            many times the pixels of the output, along each side; None never does. On 2048-pixel photos, 3
            saves a fifth to a third of the time at a mean error of 0.2 levels (at most 9), 2 saves half at a
            mean of 0.3 (at most 30). Nothing changes for images below 6 or 4 times the output.

    Raises:
        ValueError: a value is out of range, or normalize has another number of channels than color.
    """

    crop: RandomResizedCrop | CenterCrop | None = None
    flip: float = 0.0
    normalize: Normalize | None = None
    color: Literal["rgb", "gray"] = "rgb"
    layout: Literal["CHW", "HWC"] = "CHW"
    dct_scaling: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.flip <= 1:
            raise ValueError(
                f"Transform: flip is {self.flip}, expected a probability in [0, 1]; 0.5 is usual"
            )
        if self.dct_scaling is not None and not 1 <= self.dct_scaling < math.inf:
            raise ValueError(
                f"Transform: dct_scaling is {self.dct_scaling}, expected 1 or more; pass 3, or None for never"
            )
        for name, value, choices in (
            ("color", self.color, ("rgb", "gray")),
            ("layout", self.layout, ("CHW", "HWC")),
        ):
            if value not in choices:
                raise ValueError(
                    f"Transform: {name} is {value!r}, expected one of {choices}; pass one of them"
                )
        if self.normalize is not None and len(self.normalize.mean) != self.channels:
            raise ValueError(
                f"Transform: normalize has {len(self.normalize.mean)} channels but color {self.color!r} has "
                f"{self.channels}; pass {self.channels} means and deviations, or another color"
            )

    @property
    def channels(self) -> int:
        """Channels of the output."""
        return 3 if self.color == "rgb" else 1

    @property
    def is_random(self) -> bool:
        """Whether the view of a sample differs from epoch to epoch."""
        return isinstance(self.crop, RandomResizedCrop) or 0 < self.flip < 1

    @property
    def output_size(self) -> tuple[int, int] | None:
        """(height, width) of every output in pixels; None if each image keeps its own."""
        return None if self.crop is None else height_width(self.crop.size, "Transform")


@dataclass(frozen=True)
class Views:
    """Which part of each image becomes the output.

    Args:
        boxes: float64 (n, 4), x, y, width, height in pixels of the upright image.
        flip: bool (n,), mirror left and right after the crop.
        clip: True if resampling must not look beyond the box, as after a crop; False if it may.
        out: (height, width) of every output in pixels, None for that of each box.
    """

    boxes: NDArray[np.float64]
    flip: NDArray[np.bool_]
    clip: bool
    out: tuple[int, int] | None


def plan_views(
    transform: Transform, widths: ArrayLike, heights: ArrayLike, *, seed: int, epoch: int, samples: ArrayLike
) -> Views:
    """Choose the view of each image: a pure function, whatever else is in the batch.

    Args:
        transform: what to do.
        widths: width of each upright image in pixels, integers (n,).
        heights: height of each upright image in pixels, integers (n,).
        seed: integer in [0, 2**64).
        epoch: number of the epoch, at least 0.
        samples: index of each image in the data set, integers (n,).

    Returns:
        The views, in the order given. Cost is about a microsecond an image in a batch of 256.

    Raises:
        ValueError: the arrays differ in length, an image has no pixels, or the seed is out of range.
        TypeError: sizes or samples are no integers.
    """
    width, height = whole_numbers(widths, "widths"), whole_numbers(heights, "heights")
    sample = whole_numbers(samples, "samples")
    _check_images(width, height, sample)
    crop = transform.crop
    draws = keyed_uniforms(derive_keys(seed, epoch, Stream.VIEW, sample), 1 + (crop.draws if crop else 0))
    if crop is None:
        boxes = np.zeros((width.size, 4))
        boxes[:, 2], boxes[:, 3] = width, height
    else:
        boxes = crop.boxes(width, height, draws[:, 1:])
    return Views(
        boxes=boxes,
        flip=draws[:, 0] < transform.flip,  # the first draw: the crop does not change which samples flip
        clip=crop is None or crop.clip,
        out=transform.output_size,
    )


def _check_images(width: NDArray[np.int64], height: NDArray[np.int64], sample: NDArray[np.int64]) -> None:
    if not width.size == height.size == sample.size:
        raise ValueError(
            f"plan_views: {width.size} widths, {height.size} heights and {sample.size} samples, "
            f"expected as many of each; pass one of each for every image"
        )
    empty = np.flatnonzero((width < 1) | (height < 1))
    if empty.size:
        at = empty[0]
        raise ValueError(
            f"plan_views: sample {sample[at]} is {width[at]}x{height[at]} pixels, expected at least 1x1; "
            f"leave it out of the batch"
        )
