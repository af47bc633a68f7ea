from __future__ import annotations

from halfbyte.conversion.journal import Outcome
from halfbyte.format.index import IndexRow


def test_outcome_survives_its_file() -> None:
    outcome = Outcome(
        row=IndexRow(3, (100, 200, 1 << 33), (1 << 64) - 1),
        codecs={"jpeg": 2, "raw": 1},
        source_bytes=1 << 40,
        written=2,
        passthrough={"png": 1},
        encoded={},
        stored_jpegs=(("b.jpg", "12-bit samples"),),
        refused=(("a\\xff.jpg", "not an image: …"),),
    )
    assert Outcome.from_json(outcome.to_json()) == outcome
