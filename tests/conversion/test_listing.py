from __future__ import annotations

import json
from pathlib import Path

import pytest
from folders import write_photos

from halfbyte.conversion.reading import read_sources
from halfbyte.conversion.sources import Sources
from halfbyte.errors import SourceError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_photos(tmp_path / "in", ["a.jpg", "sub/b.jpg", "c.jpg"])


def read_text(folder: Path, name: str, text: str) -> Sources:
    (folder / name).write_text(text, encoding="utf-8")
    return read_sources(folder / name, out="/nowhere")


def values(sources: Sources) -> dict[str, list[object]]:
    return {name: column.to_pylist() for name, column in sources.columns.items()}


def test_csv_columns_get_types(folder: Path) -> None:
    text = "path,age,score,ok,name,zip\na.jpg,3,1,true,x,007\nsub/b.jpg,-4,2.5,False,1,100\nc.jpg,,,,,\n"
    sources = read_text(folder, "list.csv", text)
    assert sources.keys == ["a.jpg", "sub/b.jpg", "c.jpg"]
    assert values(sources) == {
        "age": [3, -4, None],
        "score": [1.0, 2.5, None],
        "ok": [True, False, None],
        "name": ["x", "1", ""],
        "zip": ["007", "100", ""],
    }
    types = {field.name: str(field.type) for field in sources.schema}
    assert types == {"age": "int64", "score": "double", "ok": "bool", "name": "string", "zip": "string"}


def test_text_labels_become_class_indices(folder: Path) -> None:
    sources = read_text(folder, "list.csv", "\ufefffile_name,label\nc.jpg,dog\na.jpg,cat\nsub/b.jpg,\n")
    assert sources.classes == ("cat", "dog")
    assert values(sources) == {"label": [1, 0, -1]}


def test_number_labels_stay_numbers(folder: Path) -> None:
    sources = read_text(folder, "list.tsv", "label\tpath\n7\ta.jpg\n9\tc.jpg\n")
    assert sources.classes is None
    assert values(sources) == {"label": [7, 9]}


def test_json_lines_keep_their_types(folder: Path) -> None:
    rows = [
        {"path": "a.jpg", "label": "x", "boxes": [[0, 1], [2, 3]], "tags": ["p"], "size": 1.5, "ok": True},
        {"path": "c.jpg", "label": "y", "boxes": [], "size": 2},
    ]
    sources = read_text(folder, "list.jsonl", "\n\n".join(map(json.dumps, rows)) + "\n")
    types = {field.name: str(field.type) for field in sources.schema}
    assert types == {
        "label": "int64",
        "boxes": "list<item: list<item: int64>>",
        "tags": "list<item: string>",
        "size": "double",
        "ok": "bool",
    }
    assert values(sources)["tags"] == [["p"], None]
    assert values(sources)["boxes"] == [[[0, 1], [2, 3]], []]


def test_rows_in_memory_are_paths_or_mappings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    sources = read_sources(
        ["a.jpg", Path("sub/b.jpg"), {"path": folder / "c.jpg", "weight": 2}], out="/nowhere"
    )
    assert sources.keys == ["a.jpg", "sub/b.jpg", "c.jpg"]
    assert values(sources) == {"weight": [None, None, 2]}


def test_keys_of_far_files_start_at_the_folder_above_all(folder: Path) -> None:
    lists = folder.parent / "lists"
    lists.mkdir()
    sources = read_text(lists, "list.csv", "path\n../in/a.jpg\n../in/sub/b.jpg\n")
    assert sources.keys == ["a.jpg", "sub/b.jpg"]
    assert all(Path(sources[i].path).exists() for i in range(2))


def test_missing_file_of_a_list_is_refused(folder: Path) -> None:
    sources = read_text(folder, "list.csv", "path,n\na.jpg,1\nnope.jpg,2\nc.jpg,3\n")
    assert sources.refused == (("nope.jpg", "missing: there is no such file"),)
    assert values(sources) == {"n": [1, 3]}
    assert sources.num_found == 3


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("l.csv", "", r"l\.csv: is empty, expected a header with 'path'"),
        ("l.csv", "img,n\na.jpg,1\n", r"line 2: no 'path' or 'file_name' among 'img', 'n'; name the column"),
        ("l.csv", "path,n\na.jpg\n", r"line 2 has 1 cells, its header 2; mend the line"),
        ("l.csv", "path,n,n\na.jpg,1,2\n", r"names a column twice; rename one"),
        ("l.csv", "path,_key\na.jpg,1\n", r"field '_key'; .* rename the field"),
        (
            "l.csv",
            "path,image\na.jpg,1\n",
            r"field 'image'; 'image' is the picture itself",
        ),
        (
            "l.csv",
            "path\n\na.jpg\nsub/../a.jpg\n",
            r"a\.jpg is there twice, expected one entry a file",
        ),
        ("l.csv", "path,n\n,1\n", r"line 2: path is '', expected the path of an image; fill it in"),
        ("l.jsonl", '{"path": "a.jpg"}\n{oops\n', r"line 2 is no JSON .*; mend the line"),
        ("l.jsonl", '["a.jpg"]\n', r"line 1 holds list, expected an object such as .*; mend the line"),
        ("l.jsonl", '{"path": 3}\n', r"line 1: path is 3, expected the path of an image"),
        (
            "l.jsonl",
            '{"path": "a.jpg", "n": 1}\n{"path": "c.jpg", "n": "x"}',
            r"field 'n' has values of more",
        ),
        (
            "l.ndjson",
            '{"path": "a.jpg", "n": 99999999999999999999}',
            r"field 'n' has values of more than one",
        ),
        ("l.txt", "a.jpg\n", r"l\.txt: is a file, but neither a \.csv"),
    ],
)
def test_bad_lists_name_line_and_action(folder: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read_text(folder, name, text)


def test_list_that_is_no_utf8_says_so(folder: Path) -> None:
    (folder / "l.csv").write_bytes(b"path,name\na.jpg,caf\xe9\n")
    with pytest.raises(SourceError, match=r"l\.csv: is not UTF-8 text .*; save it as UTF-8"):
        read_sources(folder / "l.csv", out="/nowhere")


def test_row_of_another_kind_is_named(folder: Path) -> None:
    with pytest.raises(SourceError, match="row 1 is int, expected a path or a mapping with 'path'; conv"):
        read_sources([folder / "a.jpg", 5], out="/nowhere")  # type: ignore[list-item]


def test_empty_list_is_refused() -> None:
    with pytest.raises(SourceError, match="list of images: nothing to convert: found 0 entries"):
        read_sources([], out="/nowhere")


def test_column_that_the_format_cannot_hold_is_refused_at_once(folder: Path) -> None:
    (folder / "l.jsonl").write_text('{"path": "a.jpg", "tags": []}\n{"path": "b.jpg", "tags": []}\n')
    with pytest.raises(SourceError, match=r"l\.jsonl: field 'tags' is of type list<item: null>; use numbers"):
        read_sources(folder / "l.jsonl", out="/nowhere")
