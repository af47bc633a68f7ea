"""ForkLock."""

from __future__ import annotations

import os
import pickle
import threading

import pytest

from halfbyte.storage.fork_lock import ForkLock


def child_can_take(lock: ForkLock) -> bool:
    child = os.fork()
    if child == 0:
        free = lock._lock.acquire(timeout=5)
        os._exit(0 if free else 1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_finds_it_free() -> None:
    lock = ForkLock()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    free = child_can_take(lock)
    done.set()
    thread.join()
    assert free


def test_excludes_others_while_held() -> None:
    lock = ForkLock()
    with lock:
        assert not lock._lock.acquire(blocking=False)
    assert lock._lock.acquire(blocking=False)


def test_is_released_after_an_error() -> None:
    lock = ForkLock()
    with pytest.raises(ZeroDivisionError), lock:
        raise ZeroDivisionError
    assert lock._lock.acquire(blocking=False)


def test_pickles_to_a_free_one() -> None:
    lock = ForkLock()
    with lock:
        copy = pickle.loads(pickle.dumps(lock))
    with copy:
        pass
