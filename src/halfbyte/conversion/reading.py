"""From what the user names to the files to convert: a folder, a list file, or rows."""

from __future__ import annotations

import os
from collections import Counter

from halfbyte.conversion.folder import read_folder
from halfbyte.conversion.listing import read_list_file, read_rows
from halfbyte.conversion.sources import Source, Sources
from halfbyte.errors import SourceError
from halfbyte.format.fields import check_fields

__all__ = ["read_sources"]


def read_sources(source: Source, *, out: str) -> Sources:
    """Look at a source: names, sizes and fields, without opening an image.

    Args:
        source: a folder (class folders, class folders inside splits, or images alone), a .csv, .tsv, .jsonl
            or .ndjson list, or an iterable of paths or of mappings with a path.
        out: where the data set will be; may not be inside the folder.

    Raises:
        SourceError: it is none of these, or holds nothing to convert.
    """
    if not isinstance(source, str | os.PathLike):
        sources = read_rows(source)
    elif os.path.isdir(source):
        sources = read_folder(os.fspath(source), out=out)
    elif os.path.isfile(source):
        sources = read_list_file(os.fspath(source))
    else:
        raise SourceError(
            f"{os.fspath(source)}: no such folder or list; give a folder of images, or a .csv or .jsonl list "
            "of them"
        )
    if not len(sources):
        raise SourceError(
            f"{sources.where}: nothing to convert: {_found(sources)}; give a folder that holds images"
        )
    _check_keys(sources)
    try:
        check_fields(sources.schema)
    except ValueError as error:
        raise SourceError(f"{sources.where}: {error}") from error
    return sources


def _found(sources: Sources) -> str:
    parts = [f"{count} {reason}" for reason, count in sources.ignored.items()]
    parts += [f"{key}: {reason}" for key, reason in sources.refused[:3]]
    return f"found {sources.num_found} entries" + (f" ({', '.join(parts)})" if parts else "")


def _check_keys(sources: Sources) -> None:
    if len(set(sources.keys)) == len(sources):
        return
    (twice, _), *_ = Counter(sources.keys).most_common(1)
    raise SourceError(
        f"{sources.where}: {twice} is there twice, expected one entry a file; remove or rename one (several "
        "values for one image fit in a list field)"
    )
