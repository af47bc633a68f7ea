"""The report as one HTML page: figures that count, drawings over time, and the log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from halfbyte.tuning.decision import Decision
from halfbyte.tuning.history import Row
from halfbyte.tuning.reporting.panel import Line, Panel, TimeAxis
from halfbyte.tuning.reporting.scales import (
    format_bytes,
    format_number,
    format_seconds,
    format_share,
    ticks,
)

if TYPE_CHECKING:
    from halfbyte.tuning.reporting.report import Report

__all__ = ["write_page"]

_MOST_STRETCHES = 40
_FEW_EPOCHS = 4
_MOST_LOG_ROWS = 500
_MOST_FIGURES = 8

# Of Okabe and Ito's palette, which people with any colour vision can tell apart; lighter ones for the dark.
_STYLE = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --ink: #1f2328; --quiet: #59636e;
  --grid: #e7eaee; --axis: #b4bcc6; --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b5578f;
  --c4: #a67c00; --c5: #3a9bd1; --c6: #6f4bb0; --c7: #7d8590; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0f1318; --card: #171c22; --ink: #e6eaef; --quiet: #98a2ad; --grid: #262d36;
    --axis: #4b5562; --c0: #56b4e9; --c1: #f08a3c; --c2: #2fc79a; --c3: #e29cc4; --c4: #f0c94a;
    --c5: #9ad3f5; --c6: #b79cf0; --c7: #aab3bd; }
}
* { box-sizing: border-box }
body { margin: 0; padding: 36px 24px 60px; background: var(--page); color: var(--ink);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1140px; margin: 0 auto }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px }
h2 { font-size: 15px; margin: 0 0 10px }
p { margin: 0; color: var(--quiet); overflow-wrap: anywhere }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 12px;
  margin: 22px 0 12px }
.tile, section { background: var(--card); border: 1px solid var(--grid); border-radius: 8px }
.tile { padding: 14px 18px }
.tile b { display: block; font-size: 24px; line-height: 1.3; font-weight: 600 }
.tile span { color: var(--quiet) }
section { padding: 14px 24px 10px; margin-top: 12px; overflow-x: auto }
svg { display: block; width: 100%; min-width: 720px; height: auto }
svg text { font-size: 12px; fill: var(--ink) }
svg .title { font-size: 14px; font-weight: 600 }
svg .tick, svg .mark { fill: var(--quiet); font-variant-numeric: tabular-nums }
svg .mark { font-size: 11px }
svg .end { text-anchor: end }
svg .middle { text-anchor: middle }
.grid { stroke: var(--grid) }
.axis { stroke: var(--axis) }
.epoch { stroke: var(--axis); stroke-dasharray: 2 4 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.line.reference { stroke: var(--quiet); stroke-width: 1.5; stroke-dasharray: 6 4 }
.area { opacity: .14 }
.dot { stroke: var(--card); stroke-width: 1.5 }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums }
th { text-align: left; color: var(--quiet); font-weight: 500 }
th, td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--grid); vertical-align: top }
tr:last-child td { border-bottom: 0 }
td.number, th.number { text-align: right; white-space: nowrap }
"""
_COLOURS = "".join(
    f".line.c{i} {{ stroke: var(--c{i}) }} .area.c{i}, .dot.c{i} {{ fill: var(--c{i}) }}\n" for i in range(8)
)


def write_page(report: Report) -> str:
    """The page of a report."""
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Fidelity: {escape(report.policy)}</title>",
        f"<style>{_STYLE}{_COLOURS}</style>\n</head>\n<body>\n<main>",
        f"<h1>{escape(_headline(report))}</h1>",
        f"<p>{escape(report.policy)} on {escape(report.data)}</p>",
    ]
    if report.rows:
        parts += _tiles(report)
        axis = _time_axis(report)
        parts += [f"<section>{panel.svg(axis)}</section>" for panel in _panels(report)]
    parts += _log(report)
    return "\n".join([*parts, "</main>\n</body>\n</html>\n"])


def _headline(report: Report) -> str:
    if not report.rows or not report.rows[-1].samples:
        return "Nothing was read yet"
    end = report.rows[-1]
    share = end.bytes_read / (end.samples * report.bytes_a_sample[-1])
    return f"Trained on {format_share(share)} of the bytes"


def _tiles(report: Report) -> Iterator[str]:
    end = report.rows[-1]
    full = format_bytes(end.samples * report.bytes_a_sample[-1])
    waited = end.stall_seconds / end.seconds if end.seconds else 0.0
    rate = format_number(end.samples / end.seconds) if end.seconds else "no"
    changes = sum(a.fidelity != b.fidelity for a, b in pairwise(report.decisions))
    yield '<div class="tiles">'
    for figure, meaning in (
        (format_bytes(end.bytes_read), f"read, of {full} in full"),
        (format_seconds(end.seconds), f"for {end.samples:,.0f} samples, {rate} a second"),
        (format_share(waited), f"of it waiting for data, {format_seconds(end.stall_seconds)}"),
        (f"{end.fidelity:.3g}", f"fidelity now, of {len(report.bytes_a_sample)}; {_times(changes)}"),
    ):
        yield f'<div class="tile"><b>{escape(figure)}</b><span>{escape(meaning)}</span></div>'
    yield "</div>"


def _times(changes: int) -> str:
    return "never changed" if not changes else f"changed {changes} time{'s' if changes > 1 else ''}"


def _time_axis(report: Report) -> TimeAxis:
    epochs = range(report.rows[0].epoch, report.rows[-1].epoch + 1)
    seconds = report.seconds((epoch, 0) for epoch in epochs)
    return TimeAxis(report.rows[-1].seconds, tuple(zip(epochs, seconds, strict=True)))


def _panels(report: Report) -> Iterator[Panel]:
    rows, full = report.rows, report.bytes_a_sample[-1]
    yield _fidelity(report)
    yield Panel(
        "Bytes read, since the run began",
        [
            Line("read", [(row.seconds, row.bytes_read) for row in rows], fill=True),
            Line("at full fidelity", [(row.seconds, full * row.samples) for row in rows], "reference"),
        ],
        low=0,
        label=format_bytes,
    )
    sizes = [
        (a.seconds, (b.bytes_read - a.bytes_read) / (b.samples - a.samples))
        for a, b in _epochs(rows)
        if b.samples > a.samples
    ]
    ends = [(0.0, full), (rows[-1].seconds, full)]
    yield Panel(
        "Bytes a sample",
        [Line("read", sizes, 2, steps=True, fill=True), Line("at full fidelity", ends, "reference")],
        low=0,
        label=format_bytes,
    )
    waits = [
        (a.seconds, min(1.0, (b.stall_seconds - a.stall_seconds) / (b.seconds - a.seconds)))
        for a, b in _stretches(rows)
        if b.seconds > a.seconds
    ]
    waiting = Line("waiting", waits, 1, steps=True, fill=True)
    yield Panel("Share of the time that training waits for data", [waiting], 0, 1, format_share)
    yield from _figures(report)


def _fidelity(report: Report) -> Panel:
    levels = len(report.bytes_a_sample)
    decisions = _changes(report.decisions)
    when = report.seconds((d.epoch, d.step) for d in decisions)
    points = [(t, _mean(d)) for t, d in zip(when, decisions, strict=True)]
    if not points:
        points = [(row.seconds, row.fidelity) for row in report.rows]
    line = Line("fidelity", points, steps=True, notes=[str(d) for d in decisions])
    room = levels / 8
    between = [k for k in ticks(0, levels, 6) if k.is_integer() and 1 + room < k < levels - room]
    marks = [1.0, *between, float(levels)] if levels > 1 else [1.0]
    return Panel(f"Fidelity, 1 to {levels}", [line], 0.5, levels + 0.5, format_number, marks)


def _changes(decisions: Sequence[Decision]) -> list[Decision]:
    """The first, and those that differ from the one before."""
    changed = (b for a, b in pairwise(decisions) if a.fidelity != b.fidelity)
    return [*decisions[:1], *changed]


def _mean(decision: Decision) -> float:
    if isinstance(decision.fidelity, int):
        return decision.fidelity
    return sum(k * weight for k, weight in decision.fidelity.items())


def _figures(report: Report) -> Iterator[Panel]:
    """What decisions were made from: names that end in a fidelity, such as cosine_2, share a drawing."""
    when = report.seconds((d.epoch, d.step) for d in report.decisions)
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for seconds, decision in zip(when, report.decisions, strict=True):
        for name, value in decision.figures.items():
            parts = re.fullmatch(r"(.+)_(\d+)", name)
            stem, label = (parts[1], f"fidelity {parts[2]}") if parts else (name, name)
            found.setdefault(stem, {}).setdefault(label, []).append((seconds, value))
    for stem, series in list(found.items())[:_MOST_FIGURES]:
        lines = [
            Line(label, points, i % 8, notes=[f"{label}: {format_number(v)}" for _, v in points])
            for i, (label, points) in enumerate(series.items())
        ]
        yield Panel(stem.replace("_", " ").capitalize() + ", when it was looked at", lines)


def _epochs(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Whole epochs where there are a few. Records are read ahead of their samples, at most to the end of an
    epoch: only there do bytes and samples fit each other, however small the data.
    """
    starts = [rows[0], *(b for a, b in pairwise(rows) if b.epoch != a.epoch)]
    return _stretches([*starts, rows[-1]]) if len(starts) >= _FEW_EPOCHS else _stretches(rows)


def _stretches(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """The first and last row of each of a few stretches of the run."""
    every = -(-len(rows) // _MOST_STRETCHES)
    return list(pairwise([*rows[:-1:every], rows[-1]]))


def _log(report: Report) -> Iterator[str]:
    decisions = report.decisions[-_MOST_LOG_ROWS:]
    when = report.seconds((d.epoch, d.step) for d in decisions)
    yield "<section><h2>What was decided, and why</h2>"
    if len(decisions) < len(report.decisions):
        yield f"<p>The last {len(decisions)} of {len(report.decisions)} decisions.</p>"
    yield '<table><thead><tr><th class="number">time</th><th class="number">epoch</th>'
    yield '<th class="number">step</th><th>decision</th></tr></thead><tbody>'
    for seconds, decision in zip(when, decisions, strict=True):
        sentence = str(decision).partition(": ")[2]
        sentence = sentence[:1].upper() + sentence[1:]
        yield (
            f'<tr><td class="number">{format_seconds(seconds)}</td><td class="number">{decision.epoch}</td>'
            f'<td class="number">{decision.step}</td><td>{escape(sentence)}.</td></tr>'
        )
    yield "</tbody></table></section>"
