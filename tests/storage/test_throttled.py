"""ThrottledStore, under a clock of the test's own."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import halfbyte.testing
from halfbyte.storage.local import LocalStore
from halfbyte.storage.store import Store
from halfbyte.storage.throttled import ThrottledStore
from halfbyte.testing import StoreContract

NAN = float("nan")


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


def throttled(folder: Path, clock: Clock, **options: float) -> ThrottledStore:
    (folder / "x").write_bytes(bytes(1000))
    store = ThrottledStore(LocalStore(folder), bandwidth=100.0, **options)
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


def waits(folder: Path, *, seed: int, reads: int) -> list[float]:
    """What each of some reads of 100 bytes waits beyond the second that they take."""
    clock = Clock()
    store = throttled(folder, clock, jitter=0.5, seed=seed)
    for _ in range(reads):
        clock.now += 3600  # the link is free
        store.read("x", 0, 100)
    return [seconds - 1.0 for seconds in clock.slept]


def test_jitter_is_uniform_and_a_function_of_seed_and_read(tmp_path: Path) -> None:
    first = waits(tmp_path, seed=3, reads=400)
    assert min(first) >= 0
    assert 0.49 < max(first) < 0.5
    assert abs(sum(first) / len(first) - 0.25) < 0.02
    assert waits(tmp_path, seed=3, reads=10) == first[:10]
    assert waits(tmp_path, seed=4, reads=10) != first[:10]


def test_jitter_leaves_the_link_to_others(tmp_path: Path, clock: Clock) -> None:
    store = throttled(tmp_path, clock, jitter=50.0)
    store._sleep = clock.slept.append
    for _ in range(5):
        store.read("x", 0, 100)
    # The bytes of the n-th read have passed after n seconds, however late the reads before it return.
    assert all(number <= seconds < number + 50 for number, seconds in enumerate(clock.slept, start=1))
    assert store._free_at == pytest.approx(clock.now + 5)


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
    "link",
    [(0, 0, 0), (-1, 0, 0), (1, -0.1, 0), (1, 0, -0.1), (NAN, 0, 0), (1, NAN, 0), (1, 0, NAN)],
)
def test_impossible_links_are_refused(tmp_path: Path, link: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="give a bandwidth above 0"):
        ThrottledStore(LocalStore(tmp_path), *link)


def test_a_seed_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="seed is -1"):
        ThrottledStore(LocalStore(tmp_path), 1.0, seed=-1)


def test_a_copy_keeps_the_rate(tmp_path: Path) -> None:
    store = ThrottledStore(LocalStore(tmp_path), bandwidth=5.0, latency=0.25, jitter=0.5, seed=7)
    copy = pickle.loads(pickle.dumps(store))
    assert copy.inner == store.inner
    assert (copy.bandwidth, copy.latency, copy.jitter, copy.seed) == (5.0, 0.25, 0.5, 7)
    assert repr(copy) == repr(store)


def test_there_is_one_under_all_its_names() -> None:
    assert halfbyte.testing.ThrottledStore is halfbyte.ThrottledStore is ThrottledStore


def test_the_link_needs_no_pytest() -> None:
    code = "import sys; from halfbyte.testing import ThrottledStore; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
