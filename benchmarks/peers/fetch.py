"""Reads over the link, for peers that have no client of their own."""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, urlsplit

__all__ = ["copy", "fetch", "fetch_ranges"]

_own = threading.local()
_AT_ONCE = 16


def fetch(url: str, start: int = 0, stop: int | None = None) -> bytes:
    """The bytes `start` to `stop` of an object, over a connection that this thread keeps.

    Raises:
        FileNotFoundError: there is no such object.
    """
    if stop is not None and stop <= start:
        return b""
    parts = urlsplit(url)
    ranged = (
        {"Range": f"bytes={start}-{'' if stop is None else stop - 1}"} if start or stop is not None else {}
    )
    connection = _connection(parts.netloc)
    connection.request("GET", quote(parts.path), headers=ranged)
    answer = connection.getresponse()
    data = answer.read()
    if answer.status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return b""
    if answer.status == http.HTTPStatus.NOT_FOUND:
        raise FileNotFoundError(url)
    if answer.status not in (http.HTTPStatus.OK, http.HTTPStatus.PARTIAL_CONTENT):
        raise OSError(f"{url}: {answer.status} {answer.reason}")
    return data


def fetch_ranges(url: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
    """Several ranges of an object, asked for at once."""
    if len(ranges) == 1:
        return [fetch(url, *ranges[0])]
    return list(_pool(os.getpid()).map(lambda both: fetch(url, *both), ranges))


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE)


def copy(folder: Path, url: str, target: Path) -> Path:
    """Fetch all files of a folder, by one request each, for peers that read local files only."""
    for source in sorted(folder.rglob("*")):
        if source.is_file():
            name = source.relative_to(folder)
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(fetch(f"{url}/{name}"))
    return target


def _connection(address: str) -> http.client.HTTPConnection:
    """Kept for this thread; a child made by fork opens its own."""
    if getattr(_own, "key", None) != (os.getpid(), address):
        _own.key, _own.connection = (os.getpid(), address), http.client.HTTPConnection(address)
    kept: http.client.HTTPConnection = _own.connection
    return kept
