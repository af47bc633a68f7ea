"""Writes refused/: damaged records, and for damaged data sets only the files that differ from the example."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from golden_damage import RECORDS
from golden_datasets import DATASETS, INDEX, JSON, RECORD


def write_refused(folder: Path, example: Path) -> None:
    """Write every damaged file, and refused.json, which says what each must give."""
    shutil.rmtree(folder, ignore_errors=True)
    files = {name: (example / name).read_bytes() for name in (JSON, INDEX, RECORD)}
    said: dict[str, dict[str, object]] = {"records": {}, "datasets": {}}
    (folder / "records").mkdir(parents=True)
    for name, damage in RECORDS.items():
        (folder / "records" / f"{name}.pcr").write_bytes(damage.make(files[RECORD]))
        said["records"][name] = {"error": damage.error, "match": damage.match}
    for name, mix in DATASETS.items():
        changes = mix.make(files)
        for path, data in changes.items():
            if data is not None:
                target = folder / "datasets" / name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        gone = [path for path, data in changes.items() if data is None]
        said["datasets"][name] = {"error": mix.error, "match": mix.match, "gone": gone}
    (folder / "refused.json").write_text(json.dumps(said, indent=1) + "\n")
