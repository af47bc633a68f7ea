"""Full-size pixels of one sample, and failures that name it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from halfbyte import Limits
from halfbyte.codecs.pixels import decode_pixels
from halfbyte.errors import LimitExceeded, UnsupportedImage
from halfbyte.format.sample_table import CODEC_JPEG, CODEC_RAW
from photos import jpeg, photo, progressive_slices

ODD_FILES = Path(__file__).parents[1] / "native" / "data"


def test_gray_is_the_luma_plane() -> None:
    image = photo(3)
    pixels = decode_pixels(CODEC_JPEG, progressive_slices(image), size=image.size, gray=True)
    with Image.open(BytesIO(jpeg(image))) as opened:
        opened.draft("L", image.size)
        assert np.array_equal(pixels[:, :, 0], np.asarray(opened))


@pytest.mark.parametrize("name", ["lossless.jpg", "hierarchical.jpg", "jpeg_ls.jpg", "twelve_bit.jpg"])
def test_kind_that_cannot_be_decoded_is_named(name: str) -> None:
    data = (ODD_FILES / name).read_bytes()
    with pytest.raises(UnsupportedImage, match=r"^sample 7 \(odd\): "):
        decode_pixels(CODEC_RAW, [data], size=(0, 0), where="sample 7 (odd)")


def test_limit_is_checked_before_the_pixels_are_allocated() -> None:
    slices = progressive_slices(photo(3))
    with pytest.raises(LimitExceeded, match=r"^image: 60000 x 60000 pixels, over the limit"):
        decode_pixels(CODEC_JPEG, slices, size=(60000, 60000), limits=Limits())
