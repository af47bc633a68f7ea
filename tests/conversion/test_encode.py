from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from folders import frames, picture
from PIL import Image

from halfbyte._native import Limits
from halfbyte.codecs.jpeg import restore_jpeg
from halfbyte.codecs.scan_script import ScanScript
from halfbyte.conversion.encode import Converted, Encoding, Refused, convert_file, short_reason
from halfbyte.conversion.sources import SourceFile
from halfbyte.errors import ConvertError
from photos import jpeg, photo

ENCODING = Encoding(ScanScript.preset("standard"), Limits())


def source(path: Path, data: bytes) -> SourceFile:
    path.write_bytes(data)
    status = path.stat()
    return SourceFile(str(path), path.name, status.st_size, status.st_mtime_ns)


def converted(path: Path, data: bytes, encoding: Encoding = ENCODING) -> Converted:
    result = convert_file(source(path, data), {"label": 3}, encoding)
    assert isinstance(result, Converted), result
    return result


def refused(file: SourceFile, encoding: Encoding = ENCODING) -> str:
    result = convert_file(file, {}, encoding)
    assert isinstance(result, Refused), result
    assert result.key == Path(file.path).name
    return result.reason


def oriented_jpeg(orientation: int, **options: object) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return jpeg(photo(1, width=40, height=24), exif=exif.tobytes(), **options)


def test_jpeg_becomes_progressive_and_restores(tmp_path: Path) -> None:
    data = oriented_jpeg(6) + b"after the end"
    result = converted(tmp_path / "a.png", data)  # content decides, not the name
    sample = result.sample
    assert (result.how, result.reason, sample.codec, len(sample.slices)) == ("written", "", 1, 10)
    assert (sample.width, sample.height, sample.orientation) == (40, 24, 6)
    assert (sample.key, sample.source_bytes, sample.fields) == ("a.png", len(data), {"label": 3})
    assert sample.trailing == b"after the end"
    restored = restore_jpeg(sample.slices, metadata=sample.metadata, trailing=sample.trailing)
    with Image.open(io.BytesIO(restored)) as a, Image.open(io.BytesIO(data)) as b:
        assert a.tobytes() == b.tobytes()
        assert a.getexif() == b.getexif()


def test_trailing_bytes_can_be_dropped(tmp_path: Path) -> None:
    encoding = Encoding(ENCODING.script, ENCODING.limits, keep_trailing=False)
    assert converted(tmp_path / "a.jpg", jpeg(photo(1)) + b"rest", encoding).sample.trailing == b""


@pytest.mark.parametrize(
    ("kind", "name"),
    [("PNG", "png"), ("WEBP", "webp"), ("GIF", "gif"), ("BMP", "bmp"), ("TIFF", "tiff")],
)
def test_other_images_pass_through(tmp_path: Path, kind: str, name: str) -> None:
    data = picture(kind)
    result = converted(tmp_path / "a.jpg", data)
    assert (result.how, result.reason) == ("passthrough", name)
    assert (result.sample.codec, result.sample.slices) == (0, (data,))


def test_cut_jpeg_passes_through_with_its_size(tmp_path: Path) -> None:
    data = oriented_jpeg(8)
    cut = converted(tmp_path / "cut.jpg", data[:-200])
    assert (cut.how, cut.reason) == ("passthrough", "damaged")
    broken = bytearray(data)
    broken[-20:-2] = bytes(18)  # entropy-coded data, so the header still tells the size
    result = converted(tmp_path / "broken.jpg", bytes(broken))
    assert result.how == "passthrough"
    assert (result.sample.width, result.sample.height, result.sample.orientation) == (40, 24, 8)


def test_jpeg_of_unknown_kind_passes_through(tmp_path: Path) -> None:
    data = jpeg(photo(1)).replace(b"\xff\xc0", b"\xff\xc3", 1)
    result = converted(tmp_path / "a.jpg", data)
    assert (result.how, result.reason) == ("passthrough", "lossless JPEG")


def test_pixel_bomb_is_refused(tmp_path: Path) -> None:
    data = bytearray(jpeg(photo(1)))
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = b"\xfa\xfa\xfa\xfa"
    reason = refused(source(tmp_path / "bomb.jpg", bytes(data)))
    assert short_reason(reason) == "over the limits"
    assert "64250" in reason
    assert "max_pixels" in reason


def test_bomb_of_another_kind_is_refused_too(tmp_path: Path) -> None:
    data = bytearray(picture("PNG"))
    data[16:24] = b"\0\0\xfa\xfa" * 2
    reason = refused(source(tmp_path / "bomb.png", bytes(data)))
    assert reason.startswith(
        "over the limits: 64250 x 64250 pixels, over the limit of 268435456 (max_pixels)"
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not an image: the file is empty"),
        (b"hello, world", "not an image: it begins with 68 65 6c 6c 6f 2c 20 77"),
        (b"\xff\xd8", "not an image: it begins with ff d8"),
    ],
)
def test_what_is_no_image_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    assert refused(source(tmp_path / "a.jpg", data)) == reason


def test_vanished_file_is_refused(tmp_path: Path) -> None:
    file = source(tmp_path / "a.jpg", jpeg(photo(1)))
    os.unlink(file.path)
    assert refused(file) == "vanished: it was there when the source was listed"


def test_file_that_became_a_folder_or_pipe_is_refused(tmp_path: Path) -> None:
    file = source(tmp_path / "a.jpg", jpeg(photo(1)))
    os.unlink(file.path)
    os.mkfifo(file.path)
    assert refused(file) == "not a regular file"
    os.unlink(file.path)
    os.mkdir(file.path)
    assert refused(file) == "not a regular file"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.EACCES, "unreadable: Permission denied"),
        (errno.EIO, "unreadable: Input/output error"),
    ],
)
def test_unreadable_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str
) -> None:
    file = source(tmp_path / "a.jpg", jpeg(photo(1)))
    monkeypatch.setattr(os, "open", failing_open(code))
    assert refused(file) == reason


def failing_open(code: int) -> Callable[..., int]:
    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def test_lack_of_handles_is_no_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = source(tmp_path / "a.jpg", jpeg(photo(1)))
    monkeypatch.setattr(os, "open", failing_open(errno.EMFILE))
    with pytest.raises(ConvertError, match=r"Too many open files.*; raise the limit with `ulimit -n`"):
        convert_file(file, {}, ENCODING)


@pytest.mark.parametrize("change", [b"", b"longer than before" * 1000])
def test_file_that_changed_is_refused(tmp_path: Path, change: bytes) -> None:
    file = source(tmp_path / "a.jpg", jpeg(photo(1)))
    Path(file.path).write_bytes(change)
    assert short_reason(refused(file)) == "changed"


def test_file_touched_at_equal_size_is_refused(tmp_path: Path) -> None:
    file = source(tmp_path / "a.jpg", jpeg(photo(1)))
    os.utime(file.path, ns=(0, file.mtime + 1))
    assert short_reason(refused(file)) == "changed"


def asked(quality: int = 90, **options: int) -> Encoding:
    return Encoding(ENCODING.script, Limits(**options), encode_other=quality)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (picture("PNG"), "png"),
        (picture("PNG", mode="RGBA"), "png, transparency dropped"),
        (picture("WEBP"), "webp"),
        (picture("BMP"), "bmp"),
        (picture("TIFF", mode="CMYK"), "tiff"),
        (picture("PNG", mode="I;16"), "png, 16 bits to 8"),
        (frames("GIF", 3), "gif, first frame only"),
    ],
)
def test_other_images_are_encoded_when_asked(tmp_path: Path, data: bytes, reason: str) -> None:
    result = converted(tmp_path / "a.png", data, asked())
    assert (result.how, result.reason, result.sample.codec) == ("encoded", reason, 1)
    assert (result.sample.width, result.sample.height) == (64, 48)
    assert result.sample.source_bytes == len(data)


def test_encoded_images_keep_grey_full_colour_and_exif(tmp_path: Path) -> None:
    grey = converted(tmp_path / "a.png", picture("PNG", mode="L"), asked()).sample
    with Image.open(io.BytesIO(restore_jpeg(grey.slices, metadata=grey.metadata, trailing=b""))) as image:
        assert image.mode == "L"
    exif = Image.Exif()
    exif[0x0112] = 6
    colour = converted(tmp_path / "b.webp", picture("WEBP", exif=exif.tobytes()), asked()).sample
    assert colour.orientation == 6
    with Image.open(io.BytesIO(restore_jpeg(colour.slices, metadata=colour.metadata, trailing=b""))) as image:
        assert [layer[1:3] for layer in image.layer] == [(1, 1)] * 3  # type: ignore[attr-defined]


def test_what_pillow_cannot_encode_passes_through(tmp_path: Path) -> None:
    data = picture("PNG")[:200]
    result = converted(tmp_path / "a.png", data, asked())
    assert (result.how, result.reason) == ("passthrough", "png that Pillow cannot turn into JPEG")
    assert result.sample.slices == (data,)


def test_other_image_over_the_limits_is_refused_when_encoded(tmp_path: Path) -> None:
    reason = refused(source(tmp_path / "a.png", picture("PNG")), asked(max_pixels=100))
    assert reason == "over the limits: 64 x 48 pixels, over the limit of 100 (max_pixels)"
