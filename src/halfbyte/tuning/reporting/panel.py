"""One drawing over time: axes, grid, lines, and a legend, as inline SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from halfbyte.tuning.reporting.scales import format_number, ticks, time_unit

__all__ = ["Line", "Panel", "TimeAxis"]

Points = Sequence[tuple[float, float]]

# Pixels.
_WIDTH = 1080
_LEFT, _RIGHT = 84, 1064
_TOP, _HEIGHT, _FOOT = 44, 132, 28
_LETTER = 6.1  # of the small font, on the average
_MOST_DOTS = 80


@dataclass(frozen=True)
class Line:
    """Values over seconds.

    Attributes:
        name: for the legend.
        points: (seconds, value), in order of time.
        colour: number in the page's palette, or "reference" for a dashed grey line.
        steps: whether a value holds until the next point.
        fill: whether the area below is shaded.
        notes: texts that show when one points at the points, which are drawn as dots if there are few.
    """

    name: str
    points: Points
    colour: int | str = 0
    steps: bool = False
    fill: bool = False
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class TimeAxis:
    """From 0 to the end of the run; epochs begin at these seconds."""

    end: float
    epochs: tuple[tuple[int, float], ...]

    def x(self, seconds: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (seconds / self.end if self.end else 0.0)


@dataclass(frozen=True)
class Panel:
    """A titled drawing.

    Attributes:
        title: what is drawn, with its unit.
        lines: what to draw.
        low, high: of the vertical axis; None to fit.
        label: how a tick is written.
        marks: ticks to use; None for round numbers.
    """

    title: str
    lines: Sequence[Line]
    low: float | None = None
    high: float | None = None
    label: Callable[[float], str] = format_number
    marks: Sequence[float] | None = None

    def svg(self, axis: TimeAxis) -> str:
        """An ``<svg>`` element that uses the page's colours."""
        low, high = self._range()

        def y(value: float) -> float:
            return _TOP + _HEIGHT * (1 - (value - low) / (high - low))

        height = _TOP + _HEIGHT + _FOOT
        return "\n".join(
            [
                f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(self.title)}">',
                _text(_LEFT, 20, self.title, "title"),
                *self._legend(),
                *_epochs(axis),
                *self._grid(low, high, y),
                *_seconds(axis),
                *(part for line in self.lines for part in _draw(line, axis, y, y(low))),
                "</svg>",
            ]
        )

    def _range(self) -> tuple[float, float]:
        values = [value for line in self.lines for _, value in line.points] or [0.0, 1.0]
        low = min(values) if self.low is None else self.low
        high = max(values) if self.high is None else self.high
        if high <= low:
            high = low + (abs(low) or 1.0)
        room = 0.08 * (high - low)
        return low - (room if self.low is None else 0), high + (room if self.high is None else 0)

    def _grid(self, low: float, high: float, y: Callable[[float], float]) -> Iterator[str]:
        for value in ticks(low, high) if self.marks is None else self.marks:
            yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
            yield _text(_LEFT - 10, y(value) + 4, self.label(value), "tick end")

    def _legend(self) -> Iterator[str]:
        if len(self.lines) < 2:
            return
        x = float(_RIGHT)
        for line in reversed(self.lines):
            x -= _LETTER * len(line.name)
            yield _text(x, 20, line.name, "legend")
            kind = _kind(line)
            yield f'<line class="line {kind}" x1="{x - 28:.1f}" x2="{x - 8:.1f}" y1="16" y2="16"/>'
            x -= 46


def _draw(line: Line, axis: TimeAxis, y: Callable[[float], float], bottom: float) -> Iterator[str]:
    places = [(axis.x(seconds), y(value)) for seconds, value in line.points]
    if not places:
        return
    parts = [f"M{places[0][0]:.1f} {places[0][1]:.1f}"]
    for here, there in places[1:]:
        parts.append(f"H{here:.1f}V{there:.1f}" if line.steps else f"L{here:.1f} {there:.1f}")
    if line.steps:
        parts.append(f"H{_RIGHT}")
    path, kind = "".join(parts), _kind(line)
    if line.fill:
        yield f'<path class="area {kind}" d="{path}V{bottom:.1f}H{places[0][0]:.1f}Z"/>'
    yield f'<path class="line {kind}" d="{path}"><title>{escape(line.name)}</title></path>'
    dots = zip(places, line.notes, strict=True) if 0 < len(line.notes) <= _MOST_DOTS else ()
    for (here, there), note in dots:
        yield f'<circle class="dot {kind}" cx="{here:.1f}" cy="{there:.1f}" r="3.5">'
        yield f"<title>{escape(note)}</title></circle>"


def _epochs(axis: TimeAxis) -> Iterator[str]:
    """Where epochs begin; as many as have room for their number."""
    bottom, room = _TOP + _HEIGHT, -100.0
    for epoch, seconds in axis.epochs:
        x = axis.x(seconds)
        if x - room < 60:
            continue
        room = x
        yield f'<line class="epoch" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{bottom}"/>'
        yield _text(x + 4, _TOP - 2, f"epoch {epoch}" if epoch == axis.epochs[0][0] else f"{epoch}", "mark")


def _seconds(axis: TimeAxis) -> Iterator[str]:
    bottom = _TOP + _HEIGHT
    unit, length = time_unit(axis.end)
    yield f'<line class="axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{bottom}" y2="{bottom}"/>'
    for value in ticks(0, axis.end / length, 10):
        x = axis.x(value * length)
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}"/>'
        yield _text(x, bottom + 20, f"{value:g} {unit}", "tick middle")


def _kind(line: Line) -> str:
    return line.colour if isinstance(line.colour, str) else f"c{line.colour}"


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
