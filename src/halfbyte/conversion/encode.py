"""One source file to one sample, or to the reason why it is none."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, replace
from typing import Any, Literal

from halfbyte._native import Limits, inspect_jpeg
from halfbyte.codecs.encoded import EncodedSample
from halfbyte.codecs.jpeg import encode_jpeg
from halfbyte.codecs.raw import encode_raw
from halfbyte.codecs.scan_script import ScanScript
from halfbyte.codecs.sniff import ImageKind, sniff
from halfbyte.conversion.dimensions import claimed_size
from halfbyte.conversion.other import encode_other
from halfbyte.conversion.sources import SourceFile
from halfbyte.errors import (
    ConvertError,
    CorruptImage,
    ImageError,
    LimitExceeded,
    NeedMoreBytes,
    UnsupportedImage,
)

__all__ = ["Converted", "Encoding", "Refused", "convert_file", "short_reason"]

# Non-blocking, so that a pipe put in a file's place cannot hold a thread for ever.
_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

# Not the file's fault.
_OUT_OF_HANDLES = (errno.EMFILE, errno.ENFILE)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How files become samples.

    Attributes:
        script: scans and levels of the jpeg codec.
        limits: caps on one image.
        encode_other: quality at which images that are no JPEG become one; None to store them as they are.
        keep_trailing: keep what follows the image in its file.
    """

    script: ScanScript
    limits: Limits
    encode_other: int | None = None
    keep_trailing: bool = True


@dataclass(frozen=True, slots=True)
class Converted:
    """A sample, and how it came to be.

    Attributes:
        sample: what goes into the record.
        how: what was done.
        reason: why it is no ``written`` JPEG, in a form fit for counting; "" if it is.
        detail: of a JPEG that could not be progressive, all that is known of why.
    """

    sample: EncodedSample
    how: Literal["written", "passthrough", "encoded"]
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that cannot be a sample."""

    key: str
    reason: str


def short_reason(reason: str) -> str:
    """The part of a reason that is fit for counting: what stands before the first colon."""
    return reason.split(":", 1)[0]


def convert_file(file: SourceFile, fields: dict[str, Any], encoding: Encoding) -> Converted | Refused:
    """Read a file and encode it; whatever is wrong with the file is an answer, not an exception."""
    try:
        data = _read(file)
        return _convert(data, file.key, fields, encoding)
    except FileNotFoundError:
        return Refused(file.key, "vanished: it was there when the source was listed")
    except OSError as error:
        if error.errno in _OUT_OF_HANDLES:
            raise ConvertError(
                f"{file.path}: cannot be opened ({error.strerror}); raise the limit with `ulimit -n`, or "
                "convert with fewer workers, and give the same command again: it goes on where it was"
            ) from error
        return Refused(file.key, f"unreadable: {error.strerror or error}")
    except LimitExceeded as error:
        return Refused(file.key, f"over the limits: {error}")
    except _NotAnImageError as error:
        return Refused(file.key, f"{error}")
    except MemoryError:
        return Refused(file.key, f"no memory: the file has {file.size} bytes")


class _NotAnImageError(Exception):
    """The reason to refuse a file."""


def _read(file: SourceFile) -> bytes:
    descriptor = os.open(file.path, _OPEN_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _NotAnImageError("not a regular file")
        # One byte more than there should be shows that the file has grown.
        data = os.read(descriptor, file.size + 1)
        while 0 < len(data) <= file.size and (more := os.read(descriptor, file.size + 1 - len(data))):
            data += more
        mtime = os.fstat(descriptor).st_mtime_ns
    finally:
        os.close(descriptor)
    if len(data) != file.size or mtime != file.mtime:
        raise _NotAnImageError(
            f"changed: {file.size} bytes when listed, now {len(data)} or more, or another time of change"
        )
    return data


def _convert(data: bytes, key: str, fields: dict[str, Any], encoding: Encoding) -> Converted:
    kind = sniff(data)
    if kind is None:
        raise _NotAnImageError(
            f"not an image: it begins with {data[:8].hex(' ')}" if data else "not an image: the file is empty"
        )
    if kind == "jpeg":
        return _convert_jpeg(data, key, fields, encoding)
    _check_size(data, kind, encoding.limits)
    if encoding.encode_other is None:
        return Converted(encode_raw(data, key=key, fields=fields), "passthrough", kind)
    try:
        picture, losses = encode_other(data, quality=encoding.encode_other, limits=encoding.limits)
    except (CorruptImage, UnsupportedImage):
        reason = f"{kind} that Pillow cannot turn into JPEG"
        return Converted(encode_raw(data, key=key, fields=fields), "passthrough", reason)
    sample = encode_jpeg(picture, key=key, script=encoding.script, fields=fields, limits=encoding.limits)
    return Converted(replace(sample, source_bytes=len(data)), "encoded", ", ".join((kind, *losses)))


def _check_size(data: bytes, kind: ImageKind, limits: Limits) -> None:
    size = claimed_size(data, kind)
    if size is not None and size[0] * size[1] > limits.max_pixels:
        raise LimitExceeded(
            f"{size[0]} x {size[1]} pixels, over the limit of {limits.max_pixels} (max_pixels)"
        )


def _convert_jpeg(data: bytes, key: str, fields: dict[str, Any], encoding: Encoding) -> Converted:
    try:
        sample = encode_jpeg(data, key=key, script=encoding.script, fields=fields, limits=encoding.limits)
    except (UnsupportedImage, CorruptImage, NeedMoreBytes) as error:
        width, height, orientation = _size(data, encoding.limits)
        raw = encode_raw(data, key=key, fields=fields, width=width, height=height, orientation=orientation)
        return Converted(raw, "passthrough", short_reason(str(error)), str(error))
    if not encoding.keep_trailing:
        sample = replace(sample, trailing=b"")
    return Converted(sample, "written")


def _size(data: bytes, limits: Limits) -> tuple[int, int, int]:
    try:
        info = inspect_jpeg(data, limits)
    except (ImageError, NeedMoreBytes):
        return 0, 0, 1
    return info.width, info.height, info.orientation
