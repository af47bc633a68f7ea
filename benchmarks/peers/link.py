"""A link as slow as one says: an HTTP server on loopback that all processes of an arm share.

    python -m peers.link --root FOLDER

It prints its address. Serves GET and HEAD with ranges, which is all that S3 clients need to read. Bytes of
all connections pass one after another through one token bucket; each request waits for the latency by itself.
GET /.link?bandwidth=B&latency=S sets both and the counters to zero; GET /.counters returns these.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

_PIECE = 64 << 10
_CREDIT = 0.002  # seconds that a late wake-up may catch up on, so that the mean rate is the one asked for


class Bucket:
    """Lets bytes pass at a rate, for all threads together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.set(float("inf"), 0.0)

    def set(self, bandwidth: float, latency: float) -> None:
        with self._lock:
            self.bandwidth, self.latency = bandwidth, latency
            self.requests = self.bytes = 0
            self._free_at = 0.0

    def begin(self) -> None:
        with self._lock:
            self.requests += 1
        time.sleep(self.latency)

    def take(self, size: int) -> None:
        """Return when so many bytes may have passed."""
        with self._lock:
            self.bytes += size
            now = time.monotonic()
            self._free_at = max(self._free_at, now - _CREDIT) + size / self.bandwidth
            wait = self._free_at - now
        if wait > 0:
            time.sleep(wait)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    root: Path
    bucket: Bucket

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/.link":
            asked = parse_qs(parts.query)
            self.bucket.set(float(asked["bandwidth"][0]), float(asked["latency"][0]))
            self._json({})
        elif parts.path == "/.counters":
            self._json({"requests": self.bucket.requests, "bytes": self.bucket.bytes})
        else:
            self._file(unquote(parts.path), body=True)

    def do_HEAD(self) -> None:
        self._file(unquote(urlsplit(self.path).path), body=False)

    def _json(self, value: object) -> None:
        data = json.dumps(value).encode()
        self._head(HTTPStatus.OK, {"Content-Length": len(data)})
        self.wfile.write(data)

    def _file(self, path: str, *, body: bool) -> None:
        self.bucket.begin()
        file = (self.root / path.lstrip("/")).resolve()
        if not file.is_relative_to(self.root) or not file.is_file():
            self._head(HTTPStatus.NOT_FOUND, {"Content-Length": 0})
            return
        size = file.stat().st_size
        ranged = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        start, stop = _range(ranged, size)
        if start >= stop and ranged:
            self._head(
                HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
                {"Content-Length": 0, "Content-Range": f"bytes */{size}"},
            )
            return
        fields = {
            "Content-Length": stop - start,
            "Content-Type": "application/octet-stream",
            "Accept-Ranges": "bytes",
            "ETag": f'"{size:x}-{file.stat().st_mtime_ns:x}"',
            "Last-Modified": self.date_time_string(file.stat().st_mtime),
        }
        if ranged:
            fields["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        self._head(HTTPStatus.PARTIAL_CONTENT if ranged else HTTPStatus.OK, fields)
        if body:
            self._send(file, start, stop)

    def _head(self, status: HTTPStatus, fields: dict[str, object]) -> None:
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, str(value))
        self.end_headers()

    def _send(self, file: Path, start: int, stop: int) -> None:
        with open(file, "rb") as opened:
            while start < stop:
                piece = min(_PIECE, stop - start)
                self.bucket.take(piece)
                sent = os.sendfile(self.connection.fileno(), opened.fileno(), start, piece)
                while sent < piece:
                    sent += os.sendfile(self.connection.fileno(), opened.fileno(), start + sent, piece - sent)
                start += piece

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):  # clients may leave when they like
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _range(asked: re.Match[str] | None, size: int) -> tuple[int, int]:
    if asked is None or asked.groups() == ("", ""):
        return 0, size
    first, last = asked.groups()
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(size, int(last) + 1) if last else size


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    Handler.root = parser.parse_args().root.resolve()
    Handler.bucket = Bucket()
    server = Server(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
