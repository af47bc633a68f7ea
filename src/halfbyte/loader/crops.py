"""Which part of an image becomes the output: random resized crop and centre crop, as values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["CenterCrop", "RandomResizedCrop", "height_width"]

_Pixels: TypeAlias = NDArray[np.int64]

_ATTEMPTS = 10  # of torchvision's RandomResizedCrop before it falls back to a centre crop


@dataclass(frozen=True)
class RandomResizedCrop:
    """Cut out a random box and resize it: area uniform, aspect ratio log-uniform, place uniform.

    Args:
        size: output in pixels, one number for a square or (height, width).
        scale: smallest and largest area of the box, as a share of the image.
        ratio: smallest and largest width / height of the box.

    Raises:
        ValueError: a size or ratio is not positive, or a range is empty or out of bounds.

    Source: Szegedy et al., "Going deeper with convolutions" (2015), with the distribution of torchvision.
    """

    size: int | tuple[int, int]
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)

    clip: ClassVar[bool] = True
    draws: ClassVar[int] = 2 + 2 * _ATTEMPTS

    def __post_init__(self) -> None:
        height_width(self.size, "RandomResizedCrop")
        for name, (low, high), limit in (("scale", self.scale, 1.0), ("ratio", self.ratio, math.inf)):
            if not (0 < low <= high <= limit and math.isfinite(high)):
                bound = "low <= high <= 1" if limit == 1 else "low <= high"
                raise ValueError(
                    f"RandomResizedCrop: {name} is {(low, high)}, expected 0 < {bound}; "
                    f"leave {name} out for the usual range"
                )

    def boxes(self, width: _Pixels, height: _Pixels, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the box of each image.

        Args:
            width: widths of the images in pixels, int64 (n,).
            height: heights of the images in pixels, int64 (n,).
            draws: uniform numbers in [0, 1), float64 (n, 22): x, y, then area and ratio of each attempt.

        Returns:
            float64 (n, 4): x, y, width and height, whole pixels.
        """
        low, high = self.scale
        area = (width * height)[:, None] * (low + (high - low) * draws[:, 2::2])
        low, high = math.log(self.ratio[0]), math.log(self.ratio[1])
        ratio = np.exp(low + (high - low) * draws[:, 3::2])
        box_width, box_height = np.rint(np.sqrt(area * ratio)), np.rint(np.sqrt(area / ratio))
        fits = (box_width > 0) & (box_width <= width[:, None])
        fits &= (box_height > 0) & (box_height <= height[:, None])
        rows, first = np.arange(len(width)), fits.argmax(axis=1)
        w, h = box_width[rows, first], box_height[rows, first]
        x, y = np.floor(draws[:, 0] * (width - w + 1)), np.floor(draws[:, 1] * (height - h + 1))
        boxes = np.stack([x, y, w, h], axis=1)
        failed = ~fits[rows, first]
        if failed.any():
            boxes[failed] = self._fallback(width[failed], height[failed])
        return boxes

    def _fallback(self, width: _Pixels, height: _Pixels) -> NDArray[np.float64]:
        # As much of the image as the nearest allowed ratio takes; at least a pixel where that rounds to none.
        narrowest, widest = self.ratio
        ratio = width / height
        w = np.where(ratio > widest, np.maximum(np.rint(height * widest), 1), width)
        h = np.where(ratio < narrowest, np.maximum(np.rint(width / narrowest), 1), height)
        return np.stack([(width - w) // 2, (height - h) // 2, w, h], axis=1)


@dataclass(frozen=True)
class CenterCrop:
    """Resize the short side, then cut out the centre: the usual evaluation transform.

    Args:
        size: output in pixels, one number for a square or (height, width).
        resize: length of the short side before the crop, in pixels, at least as long as the crop's long side.
            None keeps the image's own size, and an image that is smaller than the crop is scaled up until
            the crop just fits (where torchvision would pad with black).

    Raises:
        ValueError: a size is not positive, or the crop does not fit into the resized image.
    """

    size: int | tuple[int, int]
    resize: int | None = None

    clip: ClassVar[bool] = False
    draws: ClassVar[int] = 0

    def __post_init__(self) -> None:
        longest = max(height_width(self.size, "CenterCrop"))
        if self.resize is not None and not longest <= self.resize:
            raise ValueError(
                f"CenterCrop: resize is {self.resize}, expected at least {longest}, the crop's long side; "
                f"pass a smaller size, or a larger resize such as {longest * 8 // 7}"
            )

    def boxes(self, width: _Pixels, height: _Pixels, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the box of each image that the crop of the resized image shows.

        Args:
            width: widths of the images in pixels, int64 (n,).
            height: heights of the images in pixels, int64 (n,).
            draws: not used: nothing is random.

        Returns:
            float64 (n, 4): x, y, width and height in pixels, with fractions, inside the image.
        """
        del draws
        out_height, out_width = height_width(self.size, "CenterCrop")
        resized_width, resized_height = self._resized(width, height)
        x = np.rint((resized_width - out_width) / 2) * width / resized_width
        y = np.rint((resized_height - out_height) / 2) * height / resized_height
        w, h = out_width * width / resized_width, out_height * height / resized_height
        return np.stack([x, y, w, h], axis=1)

    def _resized(self, width: _Pixels, height: _Pixels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self.resize is None:
            # The side that the crop fits worst decides; it is scaled up if it is shorter than the crop.
            out_height, out_width = height_width(self.size, "CenterCrop")
            by_width = out_width * height >= out_height * width
            side = np.where(by_width, np.maximum(out_width, width), np.maximum(out_height, height))
        else:
            by_width = width <= height
            side = np.full_like(width, self.resize)
        # torchvision cuts the fraction of the other side off: int(size * long / short).
        other = np.trunc(side * np.where(by_width, height, width) / np.where(by_width, width, height))
        return np.where(by_width, side, other), np.where(by_width, other, side)


def height_width(size: int | tuple[int, int], owner: str) -> tuple[int, int]:
    """Return a size given as one number or (height, width) as the latter; ValueError names the owner."""
    pair = size if isinstance(size, tuple) else (size, size)
    if len(pair) != 2 or not all(type(side) is int and side > 0 for side in pair):
        raise ValueError(
            f"{owner}: size is {size!r}, expected pixels above 0; pass one integer or (height, width)"
        )
    return pair
