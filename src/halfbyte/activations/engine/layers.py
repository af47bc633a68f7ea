"""The ledger's rows, gathered into as many layers as fit a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from halfbyte.activations.engine.row import Row, ratio_of

__all__ = ["EXACT", "HELD", "OUTSIDE", "Layer", "gather_layers", "label_of"]

EXACT = "kept exact"
HELD = "held by others"
OUTSIDE = "(outside of modules)"


@dataclass(frozen=True, slots=True)
class Layer:
    """A module, or several in one.

    Attributes:
        label: its path; "first … last" for several.
        before: bytes saved in it.
        after: bytes held instead, by `label_of` their rows.
    """

    label: str
    before: int
    after: dict[str, int]

    @property
    def held(self) -> int:
        """Bytes held, all together."""
        return sum(self.after.values())

    @property
    def ratio(self) -> float:
        """Bytes before over bytes after."""
        return ratio_of(self.before, self.held)


def label_of(row: Row) -> str:
    """What holds a row's bytes: its codec, or the reason that there is none."""
    return {"exact": EXACT, "held": HELD}.get(row.kind, row.codec)


def gather_layers(rows: Iterable[Row], at_most: int) -> list[Layer]:
    """One layer a module, in order. Of too many, the innermost names are left out; where next to nothing
    would be left, as of forty blocks in one list, neighbours become one instead.
    """
    rows = list(rows)
    depth = max((row.path.count(".") + 1 for row in rows), default=1)
    groups = _grouped(rows, depth)
    while len(groups) > at_most and len(outer := _grouped(rows, depth - 1)) >= at_most // 4:
        depth, groups = depth - 1, outer
    names = list(groups)
    together = max(1, -(-len(names) // at_most))
    chunks = [names[i : i + together] for i in range(0, len(names), together)]
    return [_layer(chunk, [row for name in chunk for row in groups[name]]) for chunk in chunks]


def _grouped(rows: list[Row], depth: int) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(".".join(row.path.split(".")[:depth]), []).append(row)
    return groups


def _layer(names: list[str], rows: list[Row]) -> Layer:
    after: dict[str, int] = {}
    for row in rows:
        label = label_of(row)
        after[label] = after.get(label, 0) + row.after
    label = names[0] or OUTSIDE
    if len(names) > 1:
        label += f" … {names[-1].rpartition('.')[2] or OUTSIDE}"
    return Layer(label, sum(row.before for row in rows), after)
