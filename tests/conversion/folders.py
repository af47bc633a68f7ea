"""Source folders made on the spot, and what a conversion left in a folder."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from PIL import Image

from halfbyte.conversion.report import ConvertReport
from photos import jpeg, photo


def write_photos(root: Path, names: Iterable[str], *, data: bytes | None = None) -> Path:
    """A folder with a JPEG at every name: each another picture, or all ``data``."""
    for number, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(photo(number)) if data is None else data)
    return root


def picture(kind: str, number: int = 0, *, mode: str = "RGB", **options: object) -> bytes:
    """A picture as a file of another kind that Pillow writes."""
    sink = io.BytesIO()
    photo(number).convert(mode).save(sink, kind, **options)
    return sink.getvalue()


def frames(kind: str, count: int) -> bytes:
    """An image of several frames."""
    first, *rest = [photo(i) for i in range(count)]
    return saved(first, kind, save_all=True, append_images=rest)


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    sink = io.BytesIO()
    image.save(sink, kind, **options)
    return sink.getvalue()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def accounted(report: ConvertReport) -> int:
    """The sum that must equal ``report.found``."""
    others = (report.passthrough, report.encoded, report.ignored)
    return report.written + len(report.refused) + sum(sum(counts.values()) for counts in others)
