from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from halfbyte.records.metadata_file import METADATA_NAME, MetadataFile


def written(
    folder: Path, rows: list[tuple[str, dict[str, Any]]], classes: tuple[str, ...] | None = None
) -> Any:
    file = MetadataFile(folder, classes)
    for name, fields in rows:
        file.add(name, fields)
    kept = file.finish()
    file.close()
    assert [p.name for p in folder.iterdir()] == ([METADATA_NAME] if kept else [])
    return [json.loads(line) for line in (folder / METADATA_NAME).read_text().splitlines()] if kept else None


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("a.jpg", {}),
        ("cat/a.jpg", {"label": 0}),
        ("train/deep/dog/a.jpg", {"label": 1, "split": "train"}),
        ("test/a.jpg", {"label": -1, "split": "test"}),
    ],
)
def test_nothing_is_kept_that_folders_tell(tmp_path: Path, name: str, fields: dict[str, Any]) -> None:
    assert written(tmp_path, [(name, fields)], ("cat", "deep/dog")) is None


@pytest.mark.parametrize(
    "fields", [{"label": 1}, {"label": 0, "caption": "x"}, {"label": 0, "split": "train"}]
)
def test_everything_else_is(tmp_path: Path, fields: dict[str, Any]) -> None:
    rows = written(tmp_path, [("cat/a.jpg", {"label": 0}), ("cat/b.jpg", fields)], ("cat", "dog"))
    assert rows[0] == {"file_name": "cat/a.jpg", "label": "cat"}
    assert rows[1] == {"file_name": "cat/b.jpg", **fields, "label": ("cat", "dog")[fields["label"]]}


def test_values_that_json_lacks_become_text(tmp_path: Path) -> None:
    fields = {"raw": b"\x00\xff", "day": datetime.date(2026, 1, 2), "list": [1, None], "label": 3}
    (row,) = written(tmp_path, [("a.jpg", fields)])
    assert row == {"file_name": "a.jpg", "raw": "AP8=", "day": "2026-01-02", "list": [1, None], "label": 3}
