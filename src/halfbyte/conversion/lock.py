"""One conversion at a time in an output folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from halfbyte.errors import ConvertError

__all__ = ["hold"]


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold a lock file; the system lets go of it when the process ends, however that happens.

    Raises:
        ConvertError: another process holds it.
    """
    descriptor = _acquire(path)
    try:
        yield
    finally:
        os.close(descriptor)


def _acquire(path: Path) -> int:
    while True:
        path.parent.mkdir(exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            continue  # the last holder has just removed the folder
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last holder may have removed the file between our open and our lock: then it locks nothing.
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except FileNotFoundError:
            pass
        except BlockingIOError as error:
            os.close(descriptor)
            raise ConvertError(
                f"{path.parent.parent}: another conversion is writing here (it holds {path}); wait until it "
                "ends, or choose another folder"
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
