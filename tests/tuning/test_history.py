"""Rows that stay few, and sums that go on."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import halfbyte
from halfbyte.loader.fidelity import Moment
from halfbyte.tuning import Mixture, Schedule
from halfbyte.tuning.history import History, Row


def moment(seconds: float, *, epoch: int = 0, samples: int = 0) -> Moment:
    """One at which 1000 bytes a sample were read and half of the time was spent waiting."""
    cost = {"bytes_read": 1000 * samples, "stall_seconds": seconds / 2, "samples": samples}
    return Moment(epoch, seconds, cost)


def noted(count: int) -> History:
    history = History()
    for n in range(count):
        history.note(moment(n / 4, samples=8 * n), step=n, fidelity=3)
    return history


def test_each_moment_is_a_row_while_they_are_few() -> None:
    rows = noted(5).rows
    assert [row.asked for row in rows] == [0, 1, 2, 3, 4]
    assert rows[2] == Row(2, 0, 2, 3, 0.5, 16_000, 0.25, 16)


def test_rows_are_thinned_evenly_and_the_last_is_kept() -> None:
    history = noted(5000)
    rows = history.rows
    assert 128 <= len(rows) <= 256
    apart = {b.asked - a.asked for a, b in pairwise(rows[:-1])}
    assert apart == {32}
    assert rows[0].asked == 0
    assert rows[-1] == Row(4999, 0, 4999, 3, 4999 / 4, 8 * 4_999_000, 4999 / 8, 8 * 4999)
    assert len(json.dumps(history.state_dict())) < 25_000


def test_sums_go_on_after_a_resume_in_a_loader_that_counts_from_anywhere() -> None:
    for start in (0, 7):
        history = History()
        history.load_state_dict(json.loads(json.dumps(noted(3).state_dict())))
        history.note(moment(start, samples=start), step=3, fidelity=3)
        history.note(moment(start + 2, samples=start + 10), step=4, fidelity=3)
        assert [(row.seconds, row.samples) for row in history.rows] == [
            *((0, 0), (0.25, 8), (0.5, 16)),
            *((0.5, 16), (2.5, 26)),
        ]


def test_counters_that_were_reset_lose_nothing() -> None:
    history = noted(3)
    history.note(moment(0.75, samples=4), step=3, fidelity=3)
    assert (history.rows[-1].seconds, history.rows[-1].samples) == (0.75, 16 + 4)


def test_the_end_of_a_run_is_a_row_of_its_own() -> None:
    history = noted(3)
    end = history.up_to(moment(1.0, epoch=1, samples=24))[-1]
    assert end == Row(3, 0, 3, 3, 1.0, 24_000, 0.5, 24)
    assert len(history.rows) == 3
    assert History().up_to(moment(1.0)) == ()


def test_a_policy_notes_what_its_loader_counts(dataset_path: Path) -> None:
    ds = halfbyte.open(dataset_path, transform=halfbyte.Transform(halfbyte.CenterCrop(16)))
    policy = Schedule({0: 2, 1: {1: 0.5, 4: 0.5}})
    loader = halfbyte.Loader(ds, batch_size=16, fidelity=policy)
    for _ in range(2):
        list(loader)
    rows = policy.history.rows
    assert [(row.epoch, row.step) for row in rows] == [(e, s) for e in range(2) for s in range(5)]
    assert [row.fidelity for row in rows] == [2] * 5 + [2.5] * 5
    assert [row.samples for row in rows] == [16 * n for n in range(10)]
    assert rows[-1].bytes_read == loader.counters.bytes_read
    assert [row.seconds for row in rows] == sorted(row.seconds for row in rows)


def test_a_history_is_part_of_the_state_of_its_policy(dataset_path: Path) -> None:
    def loader() -> halfbyte.Loader:
        ds = halfbyte.open(dataset_path, transform=halfbyte.Transform(halfbyte.CenterCrop(16)))
        return halfbyte.Loader(ds, batch_size=16, fidelity=Mixture({1: 1, 2: 1}))

    first, second = loader(), loader()
    list(first)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    list(second)
    assert first.policy is not None
    assert second.policy is not None
    rows = second.policy.history.rows
    assert rows[:5] == first.policy.history.rows
    assert [row.samples for row in rows[5:]] == [64 + 16 * n for n in range(5)]
