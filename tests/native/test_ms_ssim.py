"""Multi-scale structural similarity against a plain implementation in double precision."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import correlate1d

from halfbyte import _native
from photos import jpeg, photo

WEIGHTS = np.array([0.0448, 0.2856, 0.3001, 0.2363, 0.1333])
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def luma(pixels: np.ndarray) -> np.ndarray:
    pixels = pixels.astype(float)
    return pixels @ (0.299, 0.587, 0.114) if pixels.shape[2] == 3 else pixels[..., 0]


def local_means(plane: np.ndarray) -> np.ndarray:
    """Under an 11 x 11 Gaussian window of sigma 1.5, where it lies inside."""
    window = np.exp(-(np.arange(-5.0, 6) ** 2) / (2 * 1.5**2))
    window /= window.sum()
    for axis in (0, 1):
        plane = correlate1d(plane, window, axis=axis)
    return plane[5:-5, 5:-5]


def similarity(mean_a, mean_b, square_a, square_b, product) -> tuple[float, float]:
    structure = (2 * (product - mean_a * mean_b) + C2) / (square_a + square_b - mean_a**2 - mean_b**2 + C2)
    luminance = (2 * mean_a * mean_b + C1) / (mean_a**2 + mean_b**2 + C1)
    return float(np.mean(structure)), float(np.mean(luminance * structure))


def reference(a: np.ndarray, b: np.ndarray) -> float:
    x, y = luma(a), luma(b)
    scales = 0
    while scales < 5 and min(x.shape) >> scales >= 11:
        scales += 1
    if scales == 0:
        return similarity(x.mean(), y.mean(), (x * x).mean(), (y * y).mean(), (x * y).mean())[1]
    weights = WEIGHTS[:scales] / WEIGHTS[:scales].sum()
    result = 1.0
    for scale, weight in enumerate(weights):
        structure, full = similarity(*(local_means(p) for p in (x, y, x * x, y * y, x * y)))
        result *= max(0.0, full if scale == scales - 1 else structure) ** weight
        height, width = x.shape[0] // 2 * 2, x.shape[1] // 2 * 2
        x, y = (p[:height, :width].reshape(height // 2, 2, width // 2, 2).mean((1, 3)) for p in (x, y))
    return result


def damaged(image: Image.Image, quality: int) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(jpeg(image, quality=quality))))


@pytest.mark.parametrize(
    "size", [(348, 348), (200, 177), (176, 300), (100, 60), (23, 22), (11, 11), (12, 400)]
)
@pytest.mark.parametrize("quality", [5, 30, 90])
def test_photos_equal_the_reference(size: tuple[int, int], quality: int) -> None:
    image = photo(quality, width=size[0], height=size[1])
    a, b = np.asarray(image), damaged(image, quality)
    assert _native.ms_ssim(a, b) == pytest.approx(reference(a, b), abs=2e-5)
    assert _native.ms_ssim(a, b) == pytest.approx(_native.ms_ssim(b, a), abs=1e-6)


@pytest.mark.parametrize("size", [(1, 1), (10, 10), (10, 500), (3, 7)])
def test_small_pictures_are_one_window(size: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    a = random.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    b = np.clip(a.astype(int) + random.integers(-20, 21, a.shape), 0, 255).astype(np.uint8)
    assert _native.ms_ssim(a, b) == pytest.approx(reference(a, b), abs=2e-5)


def test_grey_counts_as_it_is() -> None:
    image = photo(1, width=120, height=90).convert("L")
    a, b = np.asarray(image)[..., None], damaged(image, 20)[..., None]
    assert _native.ms_ssim(a, b) == pytest.approx(reference(a, b), abs=2e-5)
    assert _native.ms_ssim(a[..., 0], b[..., 0]) == _native.ms_ssim(a, b)


@pytest.mark.parametrize("size", [(1, 1), (9, 30), (64, 48), (348, 348)])
def test_equal_pictures_give_exactly_one(size: tuple[int, int]) -> None:
    a = np.asarray(photo(2, width=size[0], height=size[1]))
    assert _native.ms_ssim(a, a.copy()) == 1.0


def test_opposites_are_not_similar() -> None:
    a = np.asarray(photo(3, width=200, height=200))
    assert _native.ms_ssim(a, 255 - a) == pytest.approx(0.0, abs=1e-12)
    black, white = np.zeros((200, 200, 3), np.uint8), np.full((200, 200, 3), 255, np.uint8)
    assert 0 < _native.ms_ssim(black, white) < 0.6


def test_rows_may_be_apart() -> None:
    a = np.asarray(photo(4, width=200, height=300))
    b = damaged(photo(4, width=200, height=300), 10)
    contiguous = _native.ms_ssim(a[::2, 10:150].copy(), b[::2, 10:150].copy())
    assert _native.ms_ssim(a[::2, 10:150], b[::2, 10:150]) == contiguous


def test_wrong_arguments_say_what_is_wrong() -> None:
    a = np.zeros((20, 30, 3), np.uint8)
    with pytest.raises(ValueError, match=r"a is \(20, 30, 3\) uint8, but b is \(20, 29, 3\) uint8: compare"):
        _native.ms_ssim(a, a[:, :-1])
    with pytest.raises(ValueError, match=r"a is \(20, 30, 3\) float64, expected \(height, width, 1 or 3\)"):
        _native.ms_ssim(a.astype(float), a)
