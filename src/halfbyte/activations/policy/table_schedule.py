"""Which quantization table from when on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["AnyTable", "TableSchedule", "parse_schedule"]

AnyTable: TypeAlias = str | Sequence[Sequence[int]]
"""A table as `JpegAct` takes it: a name, or eight rows of eight integers."""

# As "optL5H": a table, the number of epochs that it serves, and the table after them, of the same kind unless
# it is written out.
_TWO_TABLES = re.compile(r"(opts?)([LH])([0-9]+)(opts?)?([LH])")


@dataclass(frozen=True)
class TableSchedule:
    """Tables by the epoch or step that each begins at.

    Attributes:
        unit: what is counted.
        starts: the first is 0, and each is later than the one before.
        tables: as many.
    """

    unit: Literal["epoch", "step"]
    starts: tuple[int, ...]
    tables: tuple[AnyTable, ...]

    def __post_init__(self) -> None:
        if self.starts[:1] != (0,) or sorted(set(self.starts)) != list(self.starts):
            raise ValueError(
                f"schedule begins its tables at {self.unit}s {list(self.starts)}; expected ascending whole "
                "numbers, the first of them 0"
            )

    def index_at(self, *, step: int, epoch: int) -> int:
        """The place of the table in force; both count from 0."""
        return bisect_right(self.starts, epoch if self.unit == "epoch" else step) - 1


def parse_schedule(
    schedule: AnyTable | Mapping[int, AnyTable], steps: Mapping[int, AnyTable] | None = None
) -> TableSchedule:
    """A schedule as people write it.

    Args:
        schedule: one table; two as in "optL5H", that is optL for 5 epochs and then optH; or tables by the
            epoch that each begins at.
        steps: tables by the step that each begins at, instead.

    Raises:
        ValueError: no table begins at 0.
    """
    if steps is not None:
        return _by_start("step", steps)
    if isinstance(schedule, Mapping):
        return _by_start("epoch", schedule)
    if isinstance(schedule, str) and (two := _TWO_TABLES.fullmatch(schedule)):
        prefix, first, epochs, other_prefix, second = two.groups()
        tables = (prefix + first, (other_prefix or prefix) + second)
        return TableSchedule("epoch", (0, int(epochs)), tables)
    return TableSchedule("epoch", (0,), (schedule,))


def _by_start(unit: Literal["epoch", "step"], tables: Mapping[int, AnyTable]) -> TableSchedule:
    starts = sorted(tables)
    return TableSchedule(unit, tuple(starts), tuple(tables[start] for start in starts))
