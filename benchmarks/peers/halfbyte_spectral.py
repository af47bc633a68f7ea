"""halfbyte with the preset that is fastest to decode in full, at the price of larger low fidelities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import halfbyte
from peers import halfbyte as standard
from peers.photos import find_photos, shard_bytes

LINK = standard.LINK
ARMS: dict[str, dict[str, Any]] = {
    "halfbyte Loader, spectral preset, full fidelity": {"door": standard.loader, "fidelity": None}
}
epoch = standard.epoch


def prepare(photos: Path, out: Path) -> None:
    record_bytes = shard_bytes(find_photos(photos))
    halfbyte.convert(photos, out, script="spectral", record_bytes=record_bytes, quality=False)
