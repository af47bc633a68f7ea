"""ThrottledStore, under a clock of the test's own."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from halfbyte.storage.local import LocalStore
from halfbyte.storage.store import Store
from halfbyte.storage.throttled import ThrottledStore
from halfbyte.testing import StoreContract


class TestThrottledStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return ThrottledStore(LocalStore(tmp_path), bandwidth=1e12)


class Clock:
    """Seconds that pass only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def throttled(folder: Path, clock: Clock, *, latency: float = 0.0) -> ThrottledStore:
    (folder / "x").write_bytes(bytes(1000))
    store = ThrottledStore(LocalStore(folder), bandwidth=100.0, latency=latency)
    store._clock, store._sleep = clock.time, clock.sleep
    return store


def test_bytes_take_their_time(tmp_path: Path, clock: Clock) -> None:
    store = throttled(tmp_path, clock)
    store.read("x", 0, 250)
    store.read_ranges("x", [(0, 100), (900, 2000)])
    assert clock.slept == pytest.approx([2.5, 2.0])


def test_idle_time_earns_no_burst(tmp_path: Path, clock: Clock) -> None:
    store = throttled(tmp_path, clock)
    clock.now += 3600
    store.read("x", 0, 500)
    assert clock.slept == pytest.approx([5.0])


def test_latency_is_paid_by_every_read_but_not_in_turn(tmp_path: Path, clock: Clock) -> None:
    store = throttled(tmp_path, clock, latency=0.5)
    store.read("x", 0, 100)
    store.read("x", 0, 100)
    # The link was free again half a second before the first read returned.
    assert clock.slept == pytest.approx([1.5, 1.5])


def test_readers_share_the_link(tmp_path: Path, clock: Clock) -> None:
    store = throttled(tmp_path, clock)
    store._sleep = clock.slept.append  # nobody waits, so all three begin at once
    for _ in range(3):
        store.read("x", 0, 100)
    assert clock.slept == pytest.approx([1.0, 2.0, 3.0])


def test_writes_pass_freely(tmp_path: Path, clock: Clock) -> None:
    throttled(tmp_path, clock).write("y", [bytes(10_000)])
    assert clock.slept == []


@pytest.mark.parametrize(
    ("bandwidth", "latency"), [(0, 0), (-1, 0), (1, -0.1), (float("nan"), 0), (1, float("nan"))]
)
def test_impossible_links_are_refused(tmp_path: Path, bandwidth: float, latency: float) -> None:
    with pytest.raises(ValueError, match="give a bandwidth above 0"):
        ThrottledStore(LocalStore(tmp_path), bandwidth=bandwidth, latency=latency)


def test_a_copy_keeps_the_rate(tmp_path: Path) -> None:
    store = ThrottledStore(LocalStore(tmp_path), bandwidth=5.0, latency=0.25)
    copy = pickle.loads(pickle.dumps(store))
    assert (copy.inner, copy.bandwidth, copy.latency) == (store.inner, 5.0, 0.25)
    assert repr(copy) == repr(store)
