"""A folder of images: its files, and the classes and splits that its folders spell."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from halfbyte.codecs.sniff import SNIFF_BYTES, sniff
from halfbyte.conversion.columns import UNLABELLED
from halfbyte.conversion.sources import Sources, path_key, probe
from halfbyte.errors import SourceError

__all__ = ["Layout", "read_folder", "read_layout", "scan_folder"]

Parents = tuple[str, ...]

# What operating systems leave beside photos; hidden names need no list.
_SYSTEM_NAMES = frozenset(
    {
        "$recycle.bin",
        "@eadir",
        "desktop.ini",
        "ehthumbs.db",
        "icon\r",
        "lost+found",
        "system volume information",
        "thumbs.db",
    }
)

# What people keep beside photos. Content has the last word: an image that is called so is an image.
_DOCUMENT_SUFFIXES = frozenset(
    {
        ".csv",
        ".html",
        ".ipynb",
        ".json",
        ".jsonl",
        ".md",
        ".pdf",
        ".py",
        ".rst",
        ".tsv",
        ".txt",
        ".xml",
        ".yaml",
        ".yml",
    }
)

_SPLIT_NAMES = frozenset(
    {
        "dev",
        "eval",
        "evaluation",
        "holdout",
        "test",
        "testing",
        "train",
        "training",
        "trainval",
        "unlabeled",
        "unlabelled",
        "val",
        "valid",
        "validation",
    }
)


# (parents, name, size, mtime) of a file.
Found = tuple[Parents, str, int, int]


@dataclass
class _Scan:
    """What a walk over a folder has seen so far."""

    found: list[Found] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Layout:
    """What the folders between the root and an image mean.

    Attributes:
        splits: whether the top folders are splits.
        classes: names of the class folders below the split, sorted; None if there are none.
    """

    splits: bool
    classes: tuple[str, ...] | None


def read_folder(root: str, *, out: str) -> Sources:
    """The files of a folder with ``label`` (class index) and ``split``, as its folders say.

    Images alone have no fields. The class of an image is the path of its folder, joined by ``/`` where it is
    several deep; an image beside the class folders has the label -1. Where the top folders are splits (see
    :func:`read_layout`) they are no part of the class. A folder is a class even if its files turn out to be
    no images.

    Raises:
        SourceError: the folder cannot be listed, or ``out`` is in it.
    """
    _refuse_out_inside(root, out)
    scan = scan_folder(root, out=out)
    layout = read_layout({parents for parents, *_ in scan.found})
    keyed = sorted(
        (path_key("/".join((*parents, name))), i) for i, (parents, name, *_) in enumerate(scan.found)
    )
    files = [scan.found[i] for _, i in keyed]
    return Sources(
        where=root,
        root=os.path.join(root, ""),
        paths=["/".join((*parents, name)) for parents, name, *_ in files],
        keys=[key for key, _ in keyed],
        sizes=np.array([size for _, _, size, _ in files], np.int64),
        mtimes=np.array([mtime for *_, mtime in files], np.int64),
        columns=_columns(layout, [parents for parents, *_ in files]),
        classes=layout.classes,
        refused=tuple(sorted(scan.refused)),
        ignored=dict(sorted(scan.ignored.items())),
    )


def _refuse_out_inside(root: str, out: str) -> None:
    real_root, real_out = os.path.realpath(root), os.path.realpath(out)
    if os.path.commonpath([real_root, real_out]) == real_root:
        raise SourceError(
            f"{out}: is inside the source {root}, which is never written to; choose a folder outside of it"
        )


def scan_folder(root: str, *, out: str) -> _Scan:
    """Every file below ``root``, links followed; a folder inside itself is entered once.

    Raises:
        SourceError: ``root`` cannot be listed, or a link leads to ``out``.
    """
    scan = _Scan()
    out_id = _identity(out)
    root_id = _identity(root)
    pending: list[tuple[Parents, tuple[tuple[int, int] | None, ...]]] = [((), (root_id,))]
    while pending:
        parents, above = pending.pop()
        for entry in _list(root, parents, scan):
            if entry.name.startswith(".") or entry.name.casefold() in _SYSTEM_NAMES:
                scan.ignored["hidden" if entry.name.startswith(".") else "system file"] += 1
            elif not _is_folder(entry):
                _add(scan, entry.path, parents, entry.name)
            elif (identity := _identity(entry.path)) in above:
                scan.ignored["loop"] += 1
            elif identity is not None and identity == out_id:
                raise SourceError(
                    f"{entry.path}: leads to {out}, where the data set goes; choose a folder outside"
                )
            else:
                pending.append(((*parents, entry.name), (*above, identity)))
    return scan


def _list(root: str, parents: Parents, scan: _Scan) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(os.path.join(root, *parents)) as entries:
            return list(entries)
    except OSError as error:
        if not parents:
            raise SourceError(
                f"{root}: cannot be listed ({error.strerror}); change its permissions"
            ) from error
        scan.refused.append((path_key("/".join(parents)) + "/", f"unreadable: {error.strerror}"))
        return []


def _add(scan: _Scan, path: str, parents: Parents, name: str) -> None:
    status, reason = probe(path)
    if status is None:
        scan.refused.append((path_key("/".join((*parents, name))), reason))
    elif _is_document(path, name):
        scan.ignored["document"] += 1
    else:
        scan.found.append((parents, name, status.st_size, status.st_mtime_ns))


def _is_document(path: str, name: str) -> bool:
    if os.path.splitext(name)[1].casefold() not in _DOCUMENT_SUFFIXES:
        return False
    try:
        with open(path, "rb") as file:
            return sniff(file.read(SNIFF_BYTES)) is None
    except OSError:
        return False  # reading it again will say why


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def read_layout(folders: set[Parents]) -> Layout:
    """Tell splits from classes by the folders that hold files; a pure function.

    The top folders are splits if two of them, or all, are called like splits (train, val2017, test …). They
    are too if each holds class folders and shares a class name with another: then they cannot be classes
    themselves. Otherwise every folder is a class.
    """
    nested = {parents for parents in folders if parents}
    splits = _are_splits(nested)
    names = {_class_name(parents, splits) for parents in nested} - {""}
    return Layout(splits, tuple(sorted(names)) or None)


def _are_splits(nested: set[Parents]) -> bool:
    tops = {parents[0] for parents in nested}
    named = {top for top in tops if top.casefold().rstrip("0123456789").rstrip("-_ ") in _SPLIT_NAMES}
    if named and (len(named) > 1 or named == tops):
        return True
    if any(len(parents) < 2 for parents in nested):
        return False
    seen = Counter(parents[1:] for parents in nested)
    shared = {parents[0] for parents in nested if seen[parents[1:]] > 1}
    return len(tops) > 1 and shared == tops


def _class_name(parents: Parents, splits: bool) -> str:
    return path_key("/".join(parents[1:] if splits else parents))


def _columns(layout: Layout, parents: Sequence[Parents]) -> dict[str, pa.Array]:
    columns = {}
    if layout.classes is not None:
        numbers = {name: number for number, name in enumerate(layout.classes)}
        labels = [numbers.get(_class_name(p, layout.splits), UNLABELLED) for p in parents]
        columns["label"] = pa.array(labels, pa.int64())
    if layout.splits:
        columns["split"] = pa.array([path_key(p[0]) if p else "" for p in parents], pa.string())
    return columns
