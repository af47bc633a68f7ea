"""The ledger as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from rich.table import Table

from halfbyte.activations.engine.layers import OUTSIDE, label_of
from halfbyte.activations.engine.row import ACTIVATIONS, Kind, Row, Sums, ratio_of
from halfbyte.activations.engine.tables import new_table, render
from halfbyte.activations.engine.units import format_ratio, format_share, format_size

if TYPE_CHECKING:
    from halfbyte.activations.engine.ledger import Ledger

__all__ = ["By", "draw_report", "format_baselines"]

By = Literal["savers", "module", "codec", "tensor"]

_WIDEST_CELL = 44

_CELLS: dict[str, Callable[[Row], str]] = {
    "module": lambda row: row.path or OUTSIDE,
    "saved by": lambda row: ", ".join(map(str, row.savers)) or "(not known)",
    "codec": lambda row: row.codec if row.kind == "packed" else f"{label_of(row)}: {row.why}".rstrip(": "),
}
# For each `by`: the columns that tell its lines apart, and those that say what each line is.
_LINES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "savers": (("saved by", "codec"), ("saved by", "codec")),
    "module": (("module",), ("module", "codec")),
    "codec": (("codec",), ("codec",)),
    "tensor": (("module", "saved by", "codec"), ("module", "saved by", "codec")),
}
_KINDS: dict[Kind, str] = {
    "packed": "packed otherwise",
    "exact": "kept exact",
    "held": "held by others",
    "model": "model",
}
_EXPLAINED: dict[Kind, str] = {
    "exact": "by policy",
    "held": "packing would free nothing",
    "model": "parameters, buffers and their casts, which are no activations",
}


def draw_report(ledger: Ledger, by: By = "savers") -> str:
    """The table, and below it the totals and what was not packed.

    Raises:
        ValueError: `by` is none of the four.
    """
    if by not in _LINES:
        raise ValueError(f"report(by={by!r}): expected one of {', '.join(map(repr, _LINES))}")
    steps = max(ledger.steps, 1)
    heading = f"Saved for backward, for one of {ledger.steps} steps" if steps > 1 else "Saved for backward"
    table = render(_table(ledger, by, steps))
    return "\n".join([heading, "", *table, "", *_totals(ledger, steps)])


def _table(ledger: Ledger, by: By, steps: int) -> Table:
    keys, labels = _LINES[by]
    lines: dict[tuple[str, ...], list[Row]] = {}
    for row in ledger.rows(*(ACTIVATIONS if by == "tensor" else ("packed",))):
        lines.setdefault(tuple(_CELLS[key](row) for key in keys), []).append(row)
    ordered = list(lines.values())
    if by in ("savers", "codec"):  # modules and tensors stay in the order in which they ran
        ordered.sort(key=lambda rows: -sum(row.before for row in rows))
    table = new_table()
    for label in labels:
        table.add_column(label, max_width=_WIDEST_CELL, overflow="fold")
    for header in ("tensors", "shape", "before", "after", "ratio", "error", "worst", "pack", "unpack"):
        table.add_column(header, justify="right", no_wrap=True)
    for rows in ordered:
        names = [", ".join(dict.fromkeys(map(_CELLS[label], rows))) for label in labels]
        table.add_row(*names, *_numbers(rows, steps))
    return table


def _numbers(rows: list[Row], steps: int) -> list[str]:
    total = Sums.of(rows)
    return [
        f"{total.calls / steps:.4g}",
        _shape(rows),
        format_size(total.before / steps),
        format_size(total.after / steps),
        format_ratio(total.ratio),
        format_share(total.relative_mean),
        format_share(total.relative_max if total.samples else None),
        f"{1e3 * total.pack_seconds / steps:.1f} ms",
        f"{1e3 * total.unpack_seconds / steps:.1f} ms",
    ]


def _shape(rows: list[Row]) -> str:
    sizes = {row.size for row in rows}
    size = sizes.pop()
    return "various" if sizes or size is None else "x".join(map(str, size)) or "scalar"


def _totals(ledger: Ledger, steps: int) -> list[str]:
    total = ledger.totals()
    lines = [
        (
            "all activations",
            f"{format_size(total.before / steps)} → {format_size(total.after / steps)}, "
            f"{format_ratio(total.ratio)} ({format_baselines(ledger)})",
        ),
        ("packed at once", f"at most {format_size(ledger.peak_bytes)}"),
        (
            "time",
            f"packing {1e3 * total.pack_seconds / steps:.1f} ms, "
            f"unpacking {1e3 * total.unpack_seconds / steps:.1f} ms",
        ),
    ]
    for kind, label in _KINDS.items():
        lines += [(label, line) for line in _kept(ledger, kind, steps)]
    width = max(len(label) for label, _ in lines) + 2
    return [f"{label:<{width}}{text}" for label, text in lines]


def format_baselines(ledger: Ledger) -> str:
    """What the bytes held are compared with: "over float32 8.0x, over bfloat16 4.0x"."""
    rows, after = ledger.rows(*ACTIVATIONS), ledger.totals().after
    ratios = [format_ratio(ratio_of(sum(row.before_at(size) for row in rows), after)) for size in (4, 2)]
    return f"over float32 {ratios[0]}, over bfloat16 {ratios[1]}"


def _kept(ledger: Ledger, kind: Kind, steps: int) -> list[str]:
    """A line for every reason to keep tensors as they are, or to pack them in another way than asked."""
    rows: dict[str, list[Row]] = {}
    for row in ledger.rows(kind):
        if why := row.why or _EXPLAINED.get(kind):
            rows.setdefault(why, []).append(row)
    sums = sorted(((why, Sums.of(rows[why])) for why in rows), key=lambda item: -item[1].before)
    return [f"{format_size(s.before / steps)} in {_tensors(s.calls / steps)}: {why}" for why, s in sums]


def _tensors(count: float) -> str:
    return "1 tensor" if count == 1 else f"{count:.4g} tensors"
