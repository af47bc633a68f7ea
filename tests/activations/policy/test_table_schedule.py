"""Schedules as people write them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from halfbyte.activations.policy.table_schedule import AnyTable, TableSchedule, parse_schedule


@pytest.mark.parametrize(
    ("written", "starts", "tables"),
    [
        ("optH", (0,), ("optH",)),
        ("jpeg80", (0,), ("jpeg80",)),
        (((8,) * 8,) * 8, (0,), (((8,) * 8,) * 8,)),
        ("optL5H", (0, 5), ("optL", "optH")),
        ("optsL10H", (0, 10), ("optsL", "optsH")),
        ("optL12optsH", (0, 12), ("optL", "optsH")),
        ({5: "optH", 0: "optL", 30: "optsH"}, (0, 5, 30), ("optL", "optH", "optsH")),
    ],
)
def test_schedules_by_epoch(
    written: AnyTable | Mapping[int, AnyTable], starts: tuple[int, ...], tables: tuple[AnyTable, ...]
) -> None:
    assert parse_schedule(written) == TableSchedule("epoch", starts, tables)


def test_a_schedule_by_steps() -> None:
    assert parse_schedule("optL5H", {0: "optL", 2000: "optH"}) == TableSchedule(
        "step", (0, 2000), ("optL", "optH")
    )


@pytest.mark.parametrize("written", [{}, {1: "optL"}, {-1: "optL", 0: "optH"}, "optL0H"])
def test_one_table_must_begin_at_once(written: str | Mapping[int, str]) -> None:
    with pytest.raises(ValueError, match="expected ascending whole numbers, the first of them 0"):
        parse_schedule(written)


def test_the_table_in_force() -> None:
    by_epoch, by_step = TableSchedule("epoch", (0, 5, 9), "abc"), TableSchedule("step", (0, 5), "ab")  # type: ignore[arg-type]
    assert [by_epoch.index_at(step=99, epoch=epoch) for epoch in (0, 4, 5, 8, 9, 50)] == [0, 0, 1, 1, 2, 2]
    assert [by_step.index_at(step=step, epoch=99) for step in (0, 4, 5, 6)] == [0, 0, 1, 1]
