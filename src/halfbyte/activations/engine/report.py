"""The ledger as a table."""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.console import Console
from rich.table import Table

from halfbyte.activations.engine.row import ACTIVATIONS, Kind, Row, Sums, ratio_of
from halfbyte.activations.engine.units import format_ratio, format_share, format_size

if TYPE_CHECKING:
    from halfbyte.activations.engine.ledger import Ledger

__all__ = ["draw_report", "format_baselines"]

# Wide enough that rich folds cells only where a column says so.
_WIDTH = 400
_WIDEST_CELL = 44

_GROUPS: dict[str, tuple[str, Callable[[Row], tuple[Hashable, ...]]]] = {
    "savers": ("saved by", lambda row: (row.savers, row.codec)),
    "module": ("module", lambda row: (row.path,)),
    "codec": ("codec", lambda row: (row.codec,)),
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


def draw_report(ledger: Ledger, by: Literal["savers", "module", "codec"] = "savers") -> str:
    """The table of packed tensors, modules in order and all else biggest first, and below it the totals and
    what was not packed.

    Raises:
        ValueError: `by` is none of the three.
    """
    if by not in _GROUPS:
        raise ValueError(f"report(by={by!r}): expected one of {', '.join(map(repr, _GROUPS))}")
    steps = max(ledger.steps, 1)
    heading = f"Saved for backward, for one of {ledger.steps} steps" if steps > 1 else "Saved for backward"
    table = _render(_table(ledger, by, steps))
    return "\n".join([heading, "", *table, "", *_totals(ledger, steps)])


def _table(ledger: Ledger, by: str, steps: int) -> Table:
    label, key = _GROUPS[by]
    groups: dict[tuple[Hashable, ...], list[Row]] = {}
    for row in ledger.rows("packed"):
        groups.setdefault(key(row), []).append(row)
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    table.add_column(label, max_width=_WIDEST_CELL, overflow="fold")
    if by != "codec":
        table.add_column("codec", max_width=_WIDEST_CELL, overflow="fold")
    for header in ("tensors", "shape", "before", "after", "ratio", "error", "worst", "pack", "unpack"):
        table.add_column(header, justify="right", no_wrap=True)
    ordered = list(groups.values())
    if by != "module":
        ordered.sort(key=lambda rows: -sum(row.before for row in rows))
    for rows in ordered:
        codecs = [] if by == "codec" else [_listed(row.codec for row in rows)]
        table.add_row(_label(rows[0], by), *codecs, *_numbers(rows, steps))
    return table


def _label(row: Row, by: str) -> str:
    if by == "savers":
        return _listed(str(saver) for saver in row.savers) or "(not known)"
    return (row.path or "(outside of modules)") if by == "module" else row.codec


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


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _render(table: Table) -> list[str]:
    """Lines of plain text: what goes to files and notebooks must hold no colour codes."""
    out = io.StringIO()
    # Names of modules are data: neither markup nor emoji codes.
    console = Console(file=out, width=_WIDTH, color_system=None, markup=False, emoji=False, highlight=False)
    console.print(table)
    return [line.rstrip() for line in out.getvalue().rstrip().splitlines()]


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
