"""Tables in Markdown, to standard output, and pictures of what benchmarks wrote.

    python benchmarks/draw.py [--results benchmarks/results] [--out docs]

loaders_cached.svg and loaders_link.svg show images a second of each loader; accuracy.svg accuracy against
bytes read, data set by data set; activations.svg accuracy against bytes held, task by task.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from drawing import accuracy, activations, feature_maps, kernels, loaders
from drawing.figures import save

HERE = Path(__file__).parent
# Of stores: what stands above, and the file.
PICTURES = (
    ("page cache", "Images a second, from the page cache", "loaders_cached.svg"),
    ("10 MB/s, 20 ms", "Images a second, over a link of 10 MB/s", "loaders_link.svg"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs", help="folder of the pictures")
    options = parser.parse_args()
    if (path := options.results / "loaders.json").exists():
        document = json.loads(path.read_text())
        print("\n\n".join(loaders.tables(document)), end="\n\n")
        for store, heading, name in PICTURES:
            save(loaders.draw(document, store, heading), options.out / name)
    if documents := read_all(options.results, "accuracy*.json"):
        print("\n\n".join(accuracy.tables(documents)), end="\n\n")
        save(accuracy.draw(documents), options.out / "accuracy.svg")
    for draw, name in ((kernels.speeds, "activations_kernels"), (feature_maps.costs, "feature_maps")):
        if (path := options.results / f"{name}.json").exists():
            print(draw(json.loads(path.read_text())), end="\n\n")
    if documents := read_all(options.results, "activations_compare*.json"):
        print("\n\n".join(activations.tables(documents)))
        save(activations.draw(documents), options.out / "activations.svg")


def read_all(folder: Path, pattern: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob(pattern))]


if __name__ == "__main__":
    main()
