"""Batches of mixed kinds: every sample comes out as it would alone, and as Pillow has it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

import halfbyte
from halfbyte.codecs.encoded import EncodedSample
from halfbyte.codecs.raw import encode_raw
from halfbyte.errors import CorruptImage, LimitExceeded, UnsupportedImage
from photos import jpeg, photo, progressive_slices, sample, write_dataset

SIZE = (40, 32)


def png(image: Image.Image, **options: object) -> bytes:
    sink = io.BytesIO()
    image.save(sink, "png", **options)
    return sink.getvalue()


def raw(data: bytes, number: int, **header: int) -> EncodedSample:
    return encode_raw(data, key=f"{number}", fields={"label": number}, **header)


def oriented(number: int, orientation: int) -> EncodedSample:
    image = photo(number, width=SIZE[0], height=SIZE[1])
    return EncodedSample(
        key=f"{number}",
        codec=1,
        slices=progressive_slices(image),
        width=image.width,
        height=image.height,
        orientation=orientation,
        source_bytes=1,
        fields={"label": number},
    )


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Progressive, oriented, PNG of three modes, and a JPEG stored raw."""
    image = photo(1, width=SIZE[0], height=SIZE[1])
    samples = [
        sample(0, width=SIZE[0], height=SIZE[1]),
        raw(png(image), 1),
        oriented(2, 6),
        raw(png(image.convert("RGBA")), 3),
        raw(png(image.convert("L")), 4),
        raw(jpeg(image), 5, width=SIZE[0], height=SIZE[1]),
        raw(jpeg(image), 6),
    ]
    return write_dataset(tmp_path / "ds", [samples])


def reference(ds: halfbyte.Dataset, number: int) -> np.ndarray:
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(ds.read(number))))
    return np.asarray(image.convert("RGB"))


def test_every_kind_equals_pillow(mixed: Path) -> None:
    ds = halfbyte.open(mixed)
    for number in range(len(ds)):
        assert np.array_equal(ds[number]["image"], reference(ds, number)), number


def test_batches_mix_kinds(mixed: Path) -> None:
    view = halfbyte.Transform(halfbyte.CenterCrop(16, resize=20), layout="HWC")
    ds = halfbyte.open(mixed, transform=view)
    (batch,) = halfbyte.Loader(ds, batch_size=7, shuffle=False)
    for number in range(len(ds)):
        full = Image.fromarray(reference(ds, number))
        side = 20 / min(full.size)
        resized = full.resize(
            tuple(20 if s == min(full.size) else int(s * side) for s in full.size), Image.Resampling.BILINEAR
        )
        left, top = (round((s - 16) / 2) for s in resized.size)
        expected = np.asarray(resized.crop((left, top, left + 16, top + 16)))
        assert np.abs(batch["image"][number].numpy().astype(int) - expected).max() <= 1, number


def test_gray_is_one_channel_for_every_kind(mixed: Path) -> None:
    ds = halfbyte.open(mixed, transform=halfbyte.Transform(halfbyte.CenterCrop(16), color="gray"))
    (batch,) = halfbyte.Loader(ds, batch_size=7)
    assert batch["image"].shape == (7, 1, 16, 16)
    assert batch["image"].float().std() > 10


def test_sixteen_bit_keeps_its_high_byte(tmp_path: Path) -> None:
    values = (np.arange(40 * 32, dtype=np.uint32).reshape(32, 40) * 50).astype(np.uint16)
    path = write_dataset(tmp_path / "ds", [[raw(png(Image.fromarray(values)), 0)]])
    assert np.array_equal(halfbyte.open(path)[0]["image"][:, :, 1], values >> 8)


def test_cut_image_is_named(tmp_path: Path) -> None:
    image = photo(1, width=SIZE[0], height=SIZE[1])
    samples = [raw(jpeg(image)[:-200], 0), raw(png(image)[:-200], 1), raw(png(image), 2)]
    path = write_dataset(tmp_path / "ds", [samples])
    for number in (0, 1):
        with pytest.raises(CorruptImage, match=rf"sample {number} \({number}\): .*replace the file"):
            halfbyte.open(path)[number]
    ds = halfbyte.open(path, transform=halfbyte.Transform(halfbyte.CenterCrop(16)), on_error="skip")
    assert [item["label"] for item in ds.__getitems__([0, 1, 2])] == [2]
    assert ds.counters.errors == 2


def test_limits_hold_for_every_kind(mixed: Path) -> None:
    ds = halfbyte.open(mixed, limits=halfbyte.Limits(max_pixels=1000))
    for number in range(len(ds)):
        with pytest.raises(LimitExceeded, match=r"over the limit of 1000 \(max_pixels\)"):
            ds[number]


def test_images_of_many_sizes_need_a_crop(tmp_path: Path) -> None:
    path = write_dataset(tmp_path / "ds", [[sample(0, width=40, height=32), sample(1, width=48, height=32)]])
    ds = halfbyte.open(path)
    assert [item["image"].shape for item in ds.__getitems__([0, 1])] == [(32, 40, 3), (32, 48, 3)]


def test_dct_scaling_stays_close(tmp_path: Path) -> None:
    samples = [sample(i, width=640, height=512) for i in range(4)]
    path = write_dataset(tmp_path / "ds", [samples])
    crop = halfbyte.CenterCrop(64, resize=64)
    exact = halfbyte.open(path, transform=halfbyte.Transform(crop))
    scaled = halfbyte.open(path, transform=halfbyte.Transform(crop, dct_scaling=2))
    for number in range(4):
        difference = np.abs(exact[number]["image"].astype(int) - scaled[number]["image"])
        assert 0 < difference.mean() < 1


def test_no_program_is_started_for_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow would hand EPS to Ghostscript."""
    program = tmp_path / "gs"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'started'}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n%%EOF\n"
    path = write_dataset(tmp_path / "ds", [[raw(eps, 0)]])
    with pytest.raises(UnsupportedImage, match=r"begins with 25 21 50 .* no kind of image that is known"):
        halfbyte.open(path)[0]
    assert not (tmp_path / "started").exists()
