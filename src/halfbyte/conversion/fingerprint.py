"""What a conversion is made of: its settings and sources, as a number and as a list to compare with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from halfbyte.conversion.sources import Sources
from halfbyte.format.header import DATASET_ID_BYTES

__all__ = ["Fingerprint", "describe_changes", "take_fingerprint"]

_CHUNK = 1 << 16
_ENCODER = json.JSONEncoder(sort_keys=True, default=repr)


@dataclass(frozen=True)
class Fingerprint:
    """A conversion to be.

    Attributes:
        settings: whatever changes the bytes of the result, JSON-able.
        identity: 16 bytes over settings and every source's name, size and fields. The data set's id: the same
            photos converted the same way elsewhere give the same one.
        keys: names of the sources.
        states: uint64 (n,), a hash of each source's size, time of change and fields.
    """

    settings: Mapping[str, Any]
    identity: bytes
    keys: pa.Array
    states: npt.NDArray[np.uint64]


def take_fingerprint(sources: Sources, settings: Mapping[str, Any]) -> Fingerprint:
    """The fingerprint of a conversion; opens no source."""
    digest = xxhash.xxh3_128(_text([settings, sources.classes, sources.refused, _field_types(sources)]))
    states = np.empty(len(sources), np.uint64)
    for start in range(0, len(sources), _CHUNK):
        indices = np.arange(start, min(start + _CHUNK, len(sources)))
        for index, fields in zip(indices.tolist(), sources.rows(indices), strict=True):
            seen = _text([sources.keys[index], int(sources.sizes[index]), fields])
            digest.update(seen)
            states[index] = xxhash.xxh3_64_intdigest(seen + _text(int(sources.mtimes[index])))
    identity = digest.digest()
    assert len(identity) == DATASET_ID_BYTES
    return Fingerprint(settings, identity, pa.array(sources.keys, pa.string()), states)


def _field_types(sources: Sources) -> dict[str, str]:
    return {field.name: str(field.type) for field in sources.schema}


def _text(value: Any) -> bytes:
    """JSON on a line of its own, so that no two lists of values run into each other."""
    return _ENCODER.encode(value).encode() + b"\n"


def describe_changes(old: Fingerprint, new: Fingerprint) -> str:
    """What is different, for people; empty if nothing is."""
    parts = [
        f"{name} was {old.settings.get(name)!r}, is {new.settings.get(name)!r}"
        for name in sorted({*old.settings, *new.settings})
        if old.settings.get(name) != new.settings.get(name)
    ]
    before = dict(zip(old.keys.to_pylist(), old.states.tolist(), strict=True))
    after = dict(zip(new.keys.to_pylist(), new.states.tolist(), strict=True))
    groups = {
        "gone": [key for key in before if key not in after],
        "new": [key for key in after if key not in before],
        "changed": [key for key in after if key in before and before[key] != after[key]],
    }
    parts += [f"{len(keys)} {what} (such as {keys[0]})" for what, keys in groups.items() if keys]
    if not parts and old.identity != new.identity:
        parts = ["the classes, the fields, the order of the list or the files that cannot be read are others"]
    return "; ".join(parts)
