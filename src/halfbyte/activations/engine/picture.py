"""The ledger as a picture: layer by layer, what was saved and what is held instead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from halfbyte.activations.engine.layers import EXACT, HELD, Layer, gather_layers
from halfbyte.activations.engine.report import format_baselines
from halfbyte.activations.engine.row import ACTIVATIONS
from halfbyte.activations.engine.units import format_ratio, format_size

if TYPE_CHECKING:
    from halfbyte.activations.engine.ledger import Ledger

__all__ = ["draw_picture"]

_MOST_LAYERS = 32
_LONGEST_LABEL = 29
# Pixels.
_WIDTH, _MARGIN, _ROW = 960, 36, 24
_NUMBER_WIDTH = 78
_LEFT = _MARGIN + 204
_NUMBERS = _WIDTH - _MARGIN - 3 * _NUMBER_WIDTH
_RIGHT = _NUMBERS - 20
_LETTER = 6.7  # of the small font, on the average

# Of Okabe and Ito's palette, which people with any colour vision can tell apart, and two more.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7b4fb5", "#9a8f2a")
_OTHERS = "#59636e"
_PALE = "#e4e7eb"
_GREYS = {EXACT: "#8c959f", HELD: "url(#held)"}

_STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
text { fill: #24292f }
.heading { font-size: 20px; font-weight: 600 }
.quiet { fill: #6a737d }
.number { text-anchor: end; font-variant-numeric: tabular-nums }
.tick { text-anchor: middle; fill: #6a737d }
.strong { font-weight: 600 }
.grid { stroke: #eceef1 }
"""
_HELD_PATTERN = (
    '<defs><pattern id="held" width="5" height="5" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="5" height="5" fill="#c9ced5"/>'
    '<rect width="2" height="5" fill="#a2aab4"/></pattern></defs>'
)


def draw_picture(ledger: Ledger) -> str:
    """An SVG document that needs nothing else: a bar a layer, in the order in which they ran, as long as the
    bytes saved and filled as far as the bytes held instead, in the colours of the codecs.
    """
    steps = max(ledger.steps, 1)
    layers = gather_layers(ledger.rows(*ACTIVATIONS), _MOST_LAYERS)
    total = _together(layers)
    colours = _colours(total)
    legend, y = _legend(total, colours, steps)
    rows = [*_axis(layers, steps, y + 44), *_rows(layers, colours, steps, y + 44)] if layers else []
    height = y + 44 + _ROW * len(layers) + _MARGIN if layers else y + _MARGIN
    return "\n".join(
        [*_opening(ledger, layers, height), *_heading(ledger, total, colours), *legend, *rows, "</svg>\n"]
    )


def _opening(ledger: Ledger, layers: list[Layer], height: int) -> Iterator[str]:
    steps = max(ledger.steps, 1)
    spoken = [f"{layer.label}: {_change(layer, steps)}" for layer in layers]
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="title summary">'
    )
    yield '<title id="title">Tensors saved for backward, before and after compression</title>'
    yield f'<desc id="summary">{escape("; ".join([str(ledger), *spoken]))}.</desc>'
    yield f"<style>{_STYLE}</style>"
    yield _HELD_PATTERN
    yield f'<rect width="{_WIDTH}" height="{height}" rx="6" fill="#ffffff"/>'


def _heading(ledger: Ledger, total: Layer, colours: Mapping[str, str]) -> Iterator[str]:
    """The figures that count, and one bar over the whole width for all layers together."""
    steps = max(ledger.steps, 1)
    if not total.before:
        yield _text(_MARGIN, 52, "Nothing was saved for backward", "heading")
        return
    yield _text(_MARGIN, 52, f"Saved for backward: {_change(total, steps)}", "heading")
    a_step = f"for one of {steps} steps; " if steps > 1 else ""
    packed = f"at most {format_size(ledger.peak_bytes)} packed at once"
    yield _text(_MARGIN, 75, f"{a_step}{format_baselines(ledger)}; {packed}", "quiet")
    scale = (_WIDTH - 2 * _MARGIN) / _longest([total])
    yield from _bar(total, colours, scale, corner=(_MARGIN, 92), height=18)


def _legend(total: Layer, colours: Mapping[str, str], steps: int) -> tuple[list[str], int]:
    """What the colours mean; and where the next thing goes."""
    x, y = float(_MARGIN), 132
    entries = [(label, colour, total.after[label]) for label, colour in colours.items()]
    if total.before:
        entries.append(("before", _PALE, total.before))
    parts = []
    for label, colour, held in entries:
        size = format_size(held / steps)
        width = 18 + _LETTER * (len(label) + len(size) + 1) + 22
        if x + width > _WIDTH - _MARGIN and x > _MARGIN:
            x, y = float(_MARGIN), y + 22
        parts.append(f'<rect x="{x:.1f}" y="{y - 10}" width="12" height="12" rx="2" fill="{colour}"/>')
        parts.append(
            f'<text x="{x + 18:.1f}" y="{y}">{escape(label)} <tspan class="quiet">{size}</tspan></text>'
        )
        x += width
    return parts, y


def _axis(layers: list[Layer], steps: int, top: int) -> Iterator[str]:
    """Lines and labels at round numbers of bytes, and the heads of the columns."""
    most = _longest(layers)
    bottom = top + _ROW * len(layers)
    for size in _ticks(most / steps):
        x = _LEFT + (_RIGHT - _LEFT) * size * steps / most
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{bottom}"/>'
        yield _text(x, top - 10, format_size(size).replace(".00 ", " ").replace(".0 ", " "), "tick")
    for column, name in enumerate(("before", "after", "ratio"), start=1):
        yield _text(_NUMBERS + _NUMBER_WIDTH * column, top - 10, name, "number quiet")


def _rows(layers: list[Layer], colours: Mapping[str, str], steps: int, top: int) -> Iterator[str]:
    scale = (_RIGHT - _LEFT) / _longest(layers)
    for i, layer in enumerate(layers):
        y = top + _ROW * i
        yield f"<g><title>{escape(_tooltip(layer, steps))}</title>"
        yield _text(_MARGIN, y + 16, _shortened(layer.label), "")
        yield from _bar(layer, colours, scale, corner=(_LEFT, y + 5), height=14)
        numbers = (
            format_size(layer.before / steps),
            format_size(layer.held / steps),
            format_ratio(layer.ratio),
        )
        for column, number in enumerate(numbers, start=1):
            emphasis = "number strong" if column == 3 else "number"
            yield _text(_NUMBERS + _NUMBER_WIDTH * column, y + 16, number, emphasis)
        yield "</g>"


def _bar(
    layer: Layer, colours: Mapping[str, str], scale: float, *, corner: tuple[float, int], height: int
) -> Iterator[str]:
    """Bytes before as a pale bar, and upon it those after, codec by codec; `scale` is pixels a byte."""
    x, y = corner
    width = max(scale * layer.before, 1.0)
    yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="2" fill="{_PALE}"/>'
    for label, colour in colours.items():
        part = scale * layer.after.get(label, 0)
        if part > 0:
            yield f'<rect x="{x:.2f}" y="{y}" width="{part:.2f}" height="{height}" fill="{colour}"/>'
            x += part


def _colours(total: Layer) -> dict[str, str]:
    """Colours by label, the biggest codec first; greys for what was not packed, last."""
    codecs = sorted((c for c in total.after if c not in _GREYS), key=lambda c: -total.after[c])
    colours = {codec: _COLOURS[i] if i < len(_COLOURS) else _OTHERS for i, codec in enumerate(codecs)}
    return colours | {label: grey for label, grey in _GREYS.items() if label in total.after}


def _together(layers: list[Layer]) -> Layer:
    after: dict[str, int] = {}
    for layer in layers:
        for label, held in layer.after.items():
            after[label] = after.get(label, 0) + held
    return Layer("all layers", sum(layer.before for layer in layers), after)


def _longest(layers: list[Layer]) -> int:
    return max(max(layer.before, layer.held, 1) for layer in layers)


def _ticks(most: float) -> Iterator[float]:
    """At most six numbers of bytes from 0 on, round as memory is counted."""
    step = 2.0 ** math.ceil(math.log2(most / 5))
    yield from (step * i for i in range(int(most / step) + 1))


def _change(layer: Layer, steps: int) -> str:
    before, held = format_size(layer.before / steps), format_size(layer.held / steps)
    return f"{before} → {held}, {format_ratio(layer.ratio)}"


def _tooltip(layer: Layer, steps: int) -> str:
    parts = (f"{label}: {format_size(held / steps)}" for label, held in layer.after.items())
    return "\n".join([f"{layer.label}: {_change(layer, steps)}", *parts])


def _shortened(label: str) -> str:
    """The end of a path tells more than its beginning."""
    return label if len(label) <= _LONGEST_LABEL else f"…{label[1 - _LONGEST_LABEL :]}"


def _text(x: float, y: float, text: str, kind: str) -> str:
    classes = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y}"{classes}>{escape(text)}</text>'
