from __future__ import annotations

from pathlib import Path

import pytest

from halfbyte.errors import OutputExists
from halfbyte.records.output_folder import OutputFolder, unsafe_key


@pytest.mark.parametrize("key", ["a.jpg", "a/b c/ü.jpg", "...", "a/..b/c", "~", "-rf", "C:\\x"])
def test_relative_paths_are_safe(key: str) -> None:
    assert unsafe_key(key) == ""


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("/a", "is an absolute path"),
        ("a/..", "leads out of the folder"),
        ("..", "leads out of the folder"),
        ("a/./b", "has an empty part"),
        ("a/", "has an empty part"),
        ("", "has an empty part"),
        ("a\0", "holds a zero byte"),
    ],
)
def test_other_keys_are_not(key: str, reason: str) -> None:
    assert unsafe_key(key) == reason


def test_a_folder_is_marked_until_finished(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "deep" / "out")
    folder.claim()
    assert folder.write("a/b.jpg", [b"12", b"345"]) == ("a/b.jpg", 5)
    with pytest.raises(OutputExists, match="killed before its end"):
        OutputFolder(folder.root).claim()
    folder.finish()
    assert [p.name for p in folder.root.rglob("*")] == ["a", "b.jpg"]


def test_undo_takes_back_only_its_own(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "out", reserved=frozenset({"list.txt"}))
    folder.claim()
    folder.write("a/b.jpg", [b"1"])
    folder.write("c.jpg", [b"1"])
    (folder.root / "list.txt").write_text("half")
    (folder.root / "mine.txt").write_text("someone else's, meanwhile")
    folder.undo()
    assert [p.name for p in folder.root.iterdir()] == ["mine.txt"]


def test_links_are_never_followed_out(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "out")
    folder.claim()
    (tmp_path / "target").mkdir()
    (folder.root / "link").symlink_to(tmp_path / "target" / "new.jpg")
    assert folder.write("link", [b"1"])[0] == "link~2"
    assert list((tmp_path / "target").iterdir()) == []
