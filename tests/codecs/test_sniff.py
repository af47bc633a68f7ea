from __future__ import annotations

import io

import pytest

from halfbyte.codecs.sniff import sniff
from photos import photo


@pytest.mark.parametrize("kind", ["jpeg", "png", "gif", "webp", "bmp", "tiff", "avif", "jp2"])
def test_what_pillow_writes_is_known(kind: str) -> None:
    sink = io.BytesIO()
    photo(1).save(sink, {"jp2": "jpeg2000"}.get(kind, kind))
    assert sniff(sink.getvalue()) == kind


@pytest.mark.parametrize("data", [b"", b"\xff\xd8", b"BMW beats the rest", b"RIFF....WAVEfmt ", b"GIF"])
def test_what_is_no_image_is_none(data: bytes) -> None:
    assert sniff(data) is None
