"""One sample as it goes into a record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from halfbyte.format.buffers import Buffer

__all__ = ["EncodedSample"]


@dataclass(frozen=True, slots=True)
class EncodedSample:
    """A sample's payload cut into levels, with what the sample table says of it.

    Attributes:
        key: its name, such as the path inside the source folder.
        codec: a codec id of the format.
        slices: its bytes in level 1 … L; missing ones at the end are empty.
        width, height: pixels as stored, before orientation; 0 where unknown.
        orientation: EXIF's, 1 to 8.
        source_bytes: size of the file that it came from.
        metadata: APPn and COM segments of a JPEG, as they stood.
        trailing: what followed the image.
        fields: the user's fields.
    """

    key: str
    codec: int
    slices: tuple[Buffer, ...]
    width: int
    height: int
    orientation: int
    source_bytes: int
    metadata: bytes = b""
    trailing: bytes = b""
    fields: dict[str, Any] = field(default_factory=dict)
