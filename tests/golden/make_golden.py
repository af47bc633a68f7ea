"""Make the golden files: python tests/golden/make_golden.py

They are committed and pinned; run this only for a new version of the format, then read the differences. What
Pillow's JPEG encoder gives may differ between its releases, so a fresh run need not give the same bytes. The
script also writes the worked example into docs/format.md.
"""

from __future__ import annotations

import datetime
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import xxhash

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]

import golden_images as images  # noqa: E402
import plain_reader  # noqa: E402
from golden_example import annotate  # noqa: E402
from golden_refused import write_refused  # noqa: E402
from golden_writer import write_dataset  # noqa: E402

from halfbyte.codecs.encoded import EncodedSample  # noqa: E402
from halfbyte.format.index import record_name  # noqa: E402

PHOTOS_SCHEMA = pa.schema(
    [
        ("label", pa.int64()),
        ("caption", pa.string()),
        ("score", pa.float32()),
        ("weight", pa.float64()),
        ("half", pa.float16()),
        ("checked", pa.bool_()),
        ("serial", pa.uint64()),
        ("tiny", pa.int8()),
        ("thumbnail", pa.binary()),
        ("note", pa.large_string()),
        ("taken", pa.timestamp("us")),
        ("day", pa.date32()),
        ("tags", pa.list_(pa.string())),
        ("boxes", pa.list_(pa.list_(pa.float32(), 4))),
        ("embedding", pa.list_(pa.float32(), 3)),
        ("pose", pa.struct([("x", pa.float64()), ("visible", pa.bool_())])),
        ("nothing", pa.null()),
    ]
)
FULL_FIELDS: dict[str, Any] = {
    "label": 2,
    "caption": "Ein Boot am Kai, früh 🛶",
    "score": 0.25,
    "weight": -1e300,
    "half": 1.5,
    "checked": True,
    "serial": 2**64 - 1,
    "tiny": -128,
    "thumbnail": bytes(range(8)),
    "note": "n" * 40,
    "taken": datetime.datetime(2026, 2, 3, 4, 5, 6, 789),
    "day": datetime.date(1999, 12, 31),
    "tags": ["boat", "", None],
    "boxes": [[1.0, 2.0, 30.5, 40.25], [0.0, 0.0, 1.0, 1.0]],
    "embedding": [0.5, -0.5, 0.0],
    "pose": {"x": 0.125, "visible": False},
}
CLASSES = ("ants", "cars", "boats")


def photos() -> list[list[EncodedSample]]:
    """Three records: images of every kind with fields of every kind; none at all; extras of every kind."""

    def sample(key: str, data: bytes, fields: dict[str, Any]) -> EncodedSample:
        return images.jpeg_sample(key, data, fields, num_levels=10)

    kinds = [
        sample("boats/colour.jpg", images.jpeg(images.pattern(48, 40, 3, seed=1)), FULL_FIELDS),
        sample("boats/grey.jpg", images.jpeg(images.pattern(33, 17, 1, seed=2)), {"label": 2, "tags": []}),
        sample("cars/cmyk.jpg", images.jpeg(images.pattern(24, 16, 4, seed=3)), {"label": 1}),
        sample(
            "cars/turned.jpg",
            images.jpeg(images.pattern(40, 24, 3, seed=4), segments=images.orientation_segment(6)),
            {"label": 1, "caption": ""},
        ),
        images.raw_sample("ants/drawing.png", images.png(images.pattern(12, 9, 3, seed=5)), {"label": 0}),
        sample("ants/one.jpg", images.jpeg(images.pattern(1, 1, 3, seed=6)), {"label": None}),
    ]
    segments = images.orientation_segment(3) + images.profile(300) + images.comment("made by a formula")
    extras = [
        sample(
            "extras/all.jpg",
            images.jpeg(
                images.pattern(20, 20, 3, seed=7), segments=segments, tail=b"after the end\xff\xd9\0"
            ),
            {"label": 0},
        ),
        sample("extras/none.jpg", images.jpeg(images.pattern(16, 8, 3, seed=8)), {"label": 0}),
        sample("extras/tail.jpg", images.jpeg(images.pattern(8, 8, 1, seed=9), tail=b"tail"), {"label": 0}),
    ]
    return [kinds, [], extras]


def example() -> list[list[EncodedSample]]:
    """The worked example of the format page."""
    data = images.jpeg(
        images.pattern(8, 8, 1, seed=1), quality=50, segments=images.comment("hi"), tail=b"bye"
    )
    return [
        [
            images.jpeg_sample("a/grey.jpg", data, {"label": 0}, num_levels=2),
            images.raw_sample("b/note.txt", b"hello", {"label": 1}),
        ]
    ]


def pins(folder: Path) -> list[dict[str, Any]]:
    """What must not move: of each sample, the hash of its file at every fidelity, and of its extras."""
    about, _ = plain_reader.read_dataset(folder)
    levels = len(about["levels"])
    at = [plain_reader.read_dataset(folder, k, extras=True)[1] for k in range(1, levels + 1)]
    return [
        {
            "key": sample.key,
            "codec": sample.codec,
            "size": [sample.width, sample.height],
            "orientation": sample.orientation,
            "fields": repr(sample.fields),
            "files": [f"{len(s[i].file())} {xxhash.xxh3_64_hexdigest(s[i].file())}" for s in at],
            "extras": [xxhash.xxh3_64_hexdigest(sample.metadata), xxhash.xxh3_64_hexdigest(sample.trailing)],
        }
        for i, sample in enumerate(at[-1])
    ]


def write_page(folder: Path) -> None:
    """Put the worked example into docs/format.md."""
    page = HERE.parents[1] / "docs" / "format.md"
    text = page.read_text()
    manifest = (folder / "dataset.json").read_text()
    fills = {
        "record": annotate((folder / record_name(0)).read_bytes()),
        "manifest": "\n".join("    " + line for line in manifest.splitlines()),
    }
    for name, fill in fills.items():
        head, rest = text.split(f"<!-- example: {name} -->\n")
        text = f"{head}<!-- example: {name} -->\n\n{fill}\n\n<!-- end -->{rest.split('<!-- end -->', 1)[1]}"
    page.write_text(text)


def main() -> None:
    valid = HERE / "valid"
    shutil.rmtree(valid, ignore_errors=True)
    write_dataset(valid / "photos", photos(), PHOTOS_SCHEMA, num_levels=10, classes=CLASSES)
    schema = pa.schema([("label", pa.int64())])
    write_dataset(valid / "example", example(), schema, num_levels=2, classes=("a", "b"))
    pinned = {folder.name: pins(folder) for folder in sorted(valid.iterdir())}
    (HERE / "pins.json").write_text(json.dumps(pinned, indent=1, ensure_ascii=False) + "\n")
    write_refused(HERE / "refused", valid / "example")
    write_page(valid / "example")


if __name__ == "__main__":
    main()
