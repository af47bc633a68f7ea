from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from folders import write_photos

from halfbyte.conversion.folder import Layout, read_layout
from halfbyte.conversion.reading import read_sources
from halfbyte.conversion.sources import Sources
from halfbyte.errors import SourceError


def read(root: Path) -> Sources:
    return read_sources(root, out=str(root.parent / "out"))


def labels(sources: Sources) -> list[int]:
    return sources.columns["label"].to_pylist()


def test_flat_folder_has_no_fields(tmp_path: Path) -> None:
    sources = read(write_photos(tmp_path / "in", ["b.jpg", "a.jpg"]))
    assert sources.keys == ["a.jpg", "b.jpg"]
    assert sources.columns == {}
    assert sources.classes is None
    assert sources[1].path == str(tmp_path / "in" / "b.jpg")
    assert sources[1].size == (tmp_path / "in" / "b.jpg").stat().st_size


def test_class_folders_give_sorted_indices(tmp_path: Path) -> None:
    sources = read(write_photos(tmp_path / "in", ["dog/1.jpg", "Zebra/1.jpg", "cat/1.jpg", "cat/0.jpg"]))
    assert sources.classes == ("Zebra", "cat", "dog")
    assert sources.keys == ["Zebra/1.jpg", "cat/0.jpg", "cat/1.jpg", "dog/1.jpg"]
    assert labels(sources) == [0, 1, 1, 2]


def test_deep_class_folders_keep_their_path(tmp_path: Path) -> None:
    names = ["Fruit/Apple/Gala/1.jpg", "Fruit/Kiwi/1.jpg", "Milk/1.jpg"]
    sources = read(write_photos(tmp_path / "in", names))
    assert sources.classes == ("Fruit/Apple/Gala", "Fruit/Kiwi", "Milk")
    assert "split" not in sources.columns


def test_nested_splits_share_their_classes(tmp_path: Path) -> None:
    names = ["train/cat/1.jpg", "train/dog/1.jpg", "val/dog/1.jpg", "test/fox/red/1.jpg"]
    sources = read(write_photos(tmp_path / "in", names))
    assert sources.classes == ("cat", "dog", "fox/red")
    assert sources.columns["split"].to_pylist() == ["test", "train", "train", "val"]
    assert labels(sources) == [2, 0, 1, 1]


def test_split_without_classes_is_unlabelled(tmp_path: Path) -> None:
    sources = read(write_photos(tmp_path / "in", ["train/cat/1.jpg", "test/1.jpg"]))
    assert labels(sources) == [-1, 0]
    assert sources.columns["split"].to_pylist() == ["test", "train"]


@pytest.mark.parametrize(
    ("folders", "splits", "classes"),
    [
        ({("train2017",), ("val2017",)}, True, None),
        ({("train", "cat"), ("val", "cat"), ("annotations",)}, True, ("cat",)),
        ({("bus",), ("train",)}, False, ("bus", "train")),
        ({("train",), ()}, True, None),
        (set(), False, None),
        ({("site-a", "cat"), ("site-a", "dog"), ("site-b", "cat")}, True, ("cat", "dog")),
        ({("Fruit", "Apple"), ("Milk", "Oat")}, False, ("Fruit/Apple", "Milk/Oat")),
        ({("a", "cat"), ("b", "cat"), ("c", "fox")}, False, ("a/cat", "b/cat", "c/fox")),
        ({("a", "cat"), ("b", "cat"), ("b",)}, False, ("a/cat", "b", "b/cat")),
    ],
)
def test_splits_are_known_by_name_or_shared_classes(
    folders: set[tuple[str, ...]], splits: bool, classes: tuple[str, ...] | None
) -> None:
    assert read_layout(folders) == Layout(splits=splits, classes=classes)


def test_image_beside_class_folders_is_unlabelled(tmp_path: Path) -> None:
    sources = read(write_photos(tmp_path / "in", ["cat/1.jpg", "stray.jpg"]))
    assert sources.keys == ["cat/1.jpg", "stray.jpg"]
    assert labels(sources) == [0, -1]
    sources = read(write_photos(tmp_path / "splits", ["train/cat/1.jpg", "val/cat/1.jpg", "stray.jpg"]))
    assert sources.columns["split"].to_pylist() == ["", "train", "val"]
    assert labels(sources) == [-1, 0, 0]


def test_litter_is_ignored_and_counted(tmp_path: Path) -> None:
    names = ["cat/1.jpg", ".DS_Store", "cat/Thumbs.db", "cat/._1.jpg", "desktop.ini", ".git/a", ".git/b"]
    sources = read(write_photos(tmp_path / "in", names))
    assert sources.keys == ["cat/1.jpg"]
    assert sources.refused == ()
    assert sources.ignored == {"hidden": 3, "system file": 2}


def test_documents_are_ignored_unless_they_are_images(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["cat/1.jpg", "cat/2.txt"])
    (root / "README.md").write_text("# My photos\n")
    (root / "labels.CSV").write_text("path,label\n")
    (root / "cat" / "broken.jpg").write_text("no image, though it is called one")
    sources = read(root)
    assert sources.keys == ["cat/1.jpg", "cat/2.txt", "cat/broken.jpg"]
    assert sources.ignored == {"document": 2}


def test_links_are_followed_and_loops_end(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["cat/1.jpg"])
    write_photos(tmp_path / "elsewhere", ["2.jpg", "3.jpg"])
    (root / "dog").symlink_to(tmp_path / "elsewhere")
    (root / "cat" / "link.jpg").symlink_to(tmp_path / "elsewhere" / "2.jpg")
    (root / "cat" / "up").symlink_to(root)
    (root / "cat" / "itself").symlink_to(root / "cat" / "itself")
    (root / "cat" / "gone.jpg").symlink_to(tmp_path / "nothing")
    sources = read(root)
    assert sources.keys == ["cat/1.jpg", "cat/link.jpg", "dog/2.jpg", "dog/3.jpg"]
    assert sources.ignored == {"loop": 1}
    reasons = dict(sources.refused)
    assert reasons["cat/gone.jpg"] == "broken symbolic link"
    assert reasons["cat/itself"] == "unreadable: Too many levels of symbolic links"


def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["1.jpg"])
    os.mkfifo(root / "pipe.jpg")
    assert read(root).refused == (("pipe.jpg", "not a regular file"),)


def test_names_that_are_no_utf8_stay_readable(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", [os.fsdecode(b"caf\xe9/\xff.jpg"), "thé/1.jpg"])
    sources = read(root)
    assert sources.keys == ["caf\\xe9/\\xff.jpg", "thé/1.jpg"]
    assert sources.classes == ("caf\\xe9", "thé")
    assert Path(sources[0].path).read_bytes()


def test_file_over_the_format_limit_is_refused(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["1.jpg", "big.jpg"])
    os.truncate(root / "big.jpg", 1 << 32)
    assert dict(read(root).refused) == {
        "big.jpg": "too large: 4294967296 bytes, a sample can have 4294967295"
    }


def test_out_in_the_source_is_refused(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["1.jpg"])
    (tmp_path / "alias").symlink_to(root)
    for out in (root, root / "out", tmp_path / "alias" / "out"):
        with pytest.raises(SourceError, match=r"is inside the source .* choose a folder outside of it"):
            read_sources(root, out=str(out))


def test_link_to_out_is_refused(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["cat/1.jpg"])
    (tmp_path / "out").mkdir()
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(SourceError, match=r"out: leads to .*out, where the data set goes; choose a folder"):
        read(root)


def test_empty_source_says_what_was_found(tmp_path: Path) -> None:
    write_photos(tmp_path / "in", [".hidden.jpg", "Thumbs.db"])
    with pytest.raises(SourceError, match=r"nothing to convert: found 2 entries \(1 hidden, 1 system file\)"):
        read(tmp_path / "in")


def test_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere: no such folder or list; give a folder of images"):
        read(tmp_path / "nowhere")


def test_times_of_change_are_kept_in_nanoseconds(tmp_path: Path) -> None:
    root = write_photos(tmp_path / "in", ["1.jpg"])
    os.utime(root / "1.jpg", ns=(1, 1_234_567_890_123_456_789))
    assert read(root).mtimes.tolist() == [1_234_567_890_123_456_789]
    assert read(root).sizes.dtype == np.int64
