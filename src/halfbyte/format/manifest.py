"""dataset.json: what a data set is; written last, so without it there is none (docs/format.md, section 9)."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from halfbyte.errors import CorruptRecord, UnsupportedFormat
from halfbyte.format.buffers import Buffer
from halfbyte.format.checksum import format_checksum, section_checksum
from halfbyte.format.header import DATASET_ID_BYTES, MAX_LEVELS, VERSION

__all__ = [
    "MANIFEST_NAME",
    "MAX_MANIFEST_BYTES",
    "Field",
    "Level",
    "Manifest",
    "Quality",
    "parse_manifest",
    "serialize_manifest",
]

MANIFEST_NAME = "dataset.json"
MAX_MANIFEST_BYTES = 1 << 26
_FORMAT = "halfbyte"
# The file ends with its own checksum, which is taken over the file with zeros in place of these 16 digits.
_TAIL = re.compile(rb'"xxh3": "([0-9a-f]{16})"\n\}\n')
_TAIL_BYTES = 29
_ZERO = format_checksum(0)
_MAX_COUNT = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Field:
    """One of the user's columns; ``type`` is Arrow's name for it, such as ``int64``."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the data set: its name for people, and the bytes that it has over all records."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Quality:
    """A measure against full fidelity over sampled images, one value a fidelity, in [0, 1]."""

    measure: Literal["ms-ssim"]
    samples: int
    mean: tuple[float, ...]
    p10: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The whole of dataset.json."""

    dataset_id: bytes
    num_samples: int
    num_records: int
    classes: tuple[str, ...] | None
    fields: tuple[Field, ...]
    levels: tuple[Level, ...]
    scan_script: dict[str, Any]
    source_bytes: int
    overhead_bytes: int
    extras_bytes: int
    codecs: dict[str, int]
    quality: Quality | None
    index_bytes: int
    index_checksum: int
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def num_levels(self) -> int:
        return len(self.levels)

    def bytes_at(self, fidelity: int) -> int:
        """Bytes that reading the whole data set at ``fidelity`` costs."""
        return self.overhead_bytes + sum(level.bytes for level in self.levels[:fidelity])


def serialize_manifest(manifest: Manifest) -> bytes:
    """The bytes of dataset.json, which end with their own checksum."""
    body = {
        "format": _FORMAT,
        "version": VERSION,
        "id": manifest.dataset_id.hex(),
        "num_samples": manifest.num_samples,
        "num_records": manifest.num_records,
        "classes": manifest.classes,
        "fields": [asdict(f) for f in manifest.fields],
        "levels": [asdict(level) for level in manifest.levels],
        "scan_script": manifest.scan_script,
        "source_bytes": manifest.source_bytes,
        "overhead_bytes": manifest.overhead_bytes,
        "extras_bytes": manifest.extras_bytes,
        "codecs": manifest.codecs,
        "quality": asdict(manifest.quality) if manifest.quality else None,
        "index": {"bytes": manifest.index_bytes, "xxh3": format_checksum(manifest.index_checksum)},
        "provenance": manifest.provenance,
        "xxh3": _ZERO,
    }
    text = json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    return _signed(text, format_checksum(section_checksum(text)))


def parse_manifest(data: Buffer, *, where: str) -> Manifest:
    """Read and verify dataset.json.

    Raises:
        CorruptRecord: the bytes are damaged or were edited.
        UnsupportedFormat: a newer version.
    """
    body = _verified(bytes(data), where)
    try:
        # True == 1, so the type counts too.
        if body["format"] != _FORMAT or type(body["version"]) is not int or body["version"] < VERSION:
            raise ValueError(f"format {body['format']!r}, version {body['version']!r}")
        if body["version"] == VERSION:
            return _from_body(body)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise CorruptRecord(f"{where}: is no description of a data set ({what}); copy it again") from error
    raise UnsupportedFormat(
        f"{where}: format version {body['version']}, but this release reads version {VERSION}; "
        f"install a newer halfbyte"
    )


def _verified(text: bytes, where: str) -> dict[str, Any]:
    found = _TAIL.fullmatch(text[-_TAIL_BYTES:])
    if found is None or len(text) > MAX_MANIFEST_BYTES:
        raise CorruptRecord(
            f"{where}: {len(text)} bytes that do not end with their checksum, or over the limit of "
            f"{MAX_MANIFEST_BYTES}; it is damaged or cut: copy it again"
        )
    got, said = format_checksum(section_checksum(_signed(text, _ZERO))), found[1].decode()
    if got != said:
        raise CorruptRecord(
            f"{where}: has checksum {got} but says {said}; it is damaged or was edited: copy it again"
        )
    try:
        body: dict[str, Any] = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise CorruptRecord(f"{where}: is no JSON ({error}); copy it again") from error
    return body


def _signed(text: bytes, digits: str) -> bytes:
    return text[:-20] + digits.encode() + text[-4:]


def _from_body(body: dict[str, Any]) -> Manifest:
    levels = tuple(Level(_text(level["name"]), _count(level["bytes"])) for level in body["levels"])
    dataset_id = bytes.fromhex(_text(body["id"]))
    if not 1 <= len(levels) <= MAX_LEVELS or len(dataset_id) != DATASET_ID_BYTES:
        raise ValueError(f"{len(levels)} levels, id of {len(dataset_id)} bytes")
    quality, classes = body["quality"], body["classes"]
    return Manifest(
        dataset_id=dataset_id,
        num_samples=_count(body["num_samples"]),
        num_records=_count(body["num_records"]),
        classes=None if classes is None else tuple(_text(name) for name in _list(classes)),
        fields=tuple(Field(_text(f["name"]), _text(f["type"])) for f in body["fields"]),
        levels=levels,
        scan_script=_object(body["scan_script"]),
        source_bytes=_count(body["source_bytes"]),
        overhead_bytes=_count(body["overhead_bytes"]),
        extras_bytes=_count(body["extras_bytes"]),
        codecs={name: _count(count) for name, count in _object(body["codecs"]).items()},
        quality=None if quality is None else _quality(quality, len(levels)),
        index_bytes=_count(body["index"]["bytes"]),
        index_checksum=int(_text(body["index"]["xxh3"]), 16),
        provenance=_object(body["provenance"]),
    )


def _quality(body: dict[str, Any], num_levels: int) -> Quality | None:
    if _text(body["measure"]) != "ms-ssim":
        return None  # a measure of a later release: the data set is no worse for it
    mean, p10 = (tuple(float(v) for v in _list(body[key])) for key in ("mean", "p10"))
    if len(mean) != num_levels or len(p10) != num_levels or not all(0 <= v <= 1 for v in mean + p10):
        raise ValueError("quality values outside 0 to 1 or not one a level")
    return Quality("ms-ssim", _count(body["samples"]), mean, p10)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_COUNT:
        raise ValueError(f"{value!r} where a whole number from 0 to 2**63 - 1 belongs")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} where a string belongs")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} where a list belongs")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} where an object belongs")
    return value
