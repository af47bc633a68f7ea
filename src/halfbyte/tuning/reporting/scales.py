"""Round numbers for axes, and quantities as people write them."""

from __future__ import annotations

import math

__all__ = ["format_bytes", "format_number", "format_seconds", "format_share", "ticks", "time_unit"]

_UNITS = (("min", 60.0, 180.0), ("h", 3600.0, 10_800.0), ("d", 86_400.0, 259_200.0))


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """At most so many round numbers in [low, high], evenly spaced by 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power: float = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10, 20) if _count(low, high, power * m) <= most)
    first = math.ceil(low / step - 1e-9)
    return [round((first + i) * step, 12) for i in range(_count(low, high, step))]


def _count(low: float, high: float, step: float) -> int:
    return math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) + 1


def time_unit(seconds: float) -> tuple[str, float]:
    """The unit in which so many seconds are read best, and how many seconds it has."""
    unit = ("s", 1.0)
    for name, length, least in _UNITS:
        if seconds >= least:
            unit = (name, length)
    return unit


def format_number(value: float) -> str:
    """Three digits, and k, M or G for thousands: 0.93, 12.5, 9.8 M."""
    for sign, size in (("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if abs(value) >= size:
            return f"{value / min(size, 1e3 if sign == 'k' else size):.3g} {sign}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def format_bytes(size: float) -> str:
    """12 kB, 3.4 MB: powers of ten."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(size) < 999.5 or unit == "TB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" or size >= 99.95 else f"{size:.3g} {unit}"


def format_seconds(seconds: float) -> str:
    """4.2 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 59.5:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def format_share(share: float) -> str:
    """37 %."""
    return f"{100 * share:.0f} %"
