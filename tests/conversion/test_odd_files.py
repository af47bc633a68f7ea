"""Odd but real kinds of JPEG, end to end: each becomes progressive or is stored as it came; none is lost."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

import halfbyte
from halfbyte.conversion.report import ConvertReport

ODD_FILES = Path(__file__).parents[1] / "native" / "data"

PROGRESSIVE = {
    "arithmetic.jpg",
    "arithmetic_progressive.jpg",
    "asymmetric.jpg",
    "cmyk.jpg",
    "progressive_with_metadata.jpg",
    "thirteen_blocks_a_unit.jpg",
}
STORED = {
    "height_by_dnl.jpg": "height after the first scan",
    "hierarchical.jpg": "hierarchical JPEG",
    "jpeg_ls.jpg": "JPEG-LS",
    "lossless.jpg": "lossless JPEG",
    "twelve_bit.jpg": "12-bit samples",
}


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> tuple[ConvertReport, halfbyte.Dataset]:
    out = tmp_path_factory.mktemp("odd") / "out"
    report = halfbyte.convert(ODD_FILES, out, keep_order=True, quality=False)
    return report, halfbyte.open(out, fields=["_key"])


def test_every_odd_file_is_accounted_for(converted: tuple[ConvertReport, halfbyte.Dataset]) -> None:
    report, ds = converted
    assert {path.name for path in ODD_FILES.iterdir()} == PROGRESSIVE | set(STORED)
    assert report.written == len(PROGRESSIVE)
    assert report.refused == ()
    assert {key: reason.split(":")[0] for key, reason in report.stored_jpegs} == STORED
    assert len(ds) == report.found == len(PROGRESSIVE) + len(STORED)


def test_pixels_are_those_of_the_source(converted: tuple[ConvertReport, halfbyte.Dataset]) -> None:
    _, ds = converted
    keys = [ds.records.sample(number, 1).key for number in range(len(ds))]
    for number, key in enumerate(keys):
        if key in PROGRESSIVE:
            with Image.open(ODD_FILES / key) as source, Image.open(BytesIO(ds.read(number))) as result:
                assert np.array_equal(np.asarray(result.convert("RGB")), np.asarray(source.convert("RGB"))), (
                    key
                )
                upright = np.asarray(ImageOps.exif_transpose(source).convert("RGB"))
            assert np.array_equal(ds.read(number, decode=True), upright), key


def test_what_is_stored_comes_back_to_the_byte(
    converted: tuple[ConvertReport, halfbyte.Dataset], tmp_path: Path
) -> None:
    _, ds = converted
    halfbyte.extract(ds.records.store.root, tmp_path / "back", original=True)
    for key in STORED:
        assert (tmp_path / "back" / key).read_bytes() == (ODD_FILES / key).read_bytes()
