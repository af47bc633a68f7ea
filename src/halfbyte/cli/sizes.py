"""Sizes, rates and shares: as people write them, and as they read them."""

from __future__ import annotations

import re

__all__ = ["format_bytes", "format_count", "format_duration", "format_rate", "format_share", "parse_size"]

_PREFIXES = "kMGTP"
_UNITS = {"": 1, "b": 1} | {
    f"{prefix.lower()}{suffix}": base**power
    for power, prefix in enumerate(_PREFIXES, start=1)
    for suffix, base in (("", 1000), ("b", 1000), ("i", 1024), ("ib", 1024))
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([A-Za-z]*)")


def parse_size(text: str) -> int:
    """Bytes from ``4096``, ``100MB`` (10⁶) or ``32MiB`` (2²⁰); case does not matter.

    Raises:
        ValueError: it is none of these, or no byte at all.
    """
    match = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None or int(float(match[1]) * unit) < 1:
        raise ValueError(
            f"{text!r} is no size; write a number of bytes, or one such as 500kB, 100MB or 32MiB"
        )
    return int(float(match[1]) * unit)


def format_bytes(size: float) -> str:
    """Decimal, three digits or so: ``812 B``, ``9.41 kB``, ``125.8 MB``."""
    if size < 1000:
        return f"{size:.0f} B"
    for prefix in _PREFIXES:
        size /= 1000
        if size < 999.95 or prefix == _PREFIXES[-1]:
            break
    return f"{size:.2f} {prefix}B" if size < 9.995 else f"{size:.1f} {prefix}B"


def format_rate(bytes_per_second: float) -> str:
    """``12.3 MB/s``."""
    return f"{format_bytes(bytes_per_second)}/s"


def format_share(part: float, whole: float) -> str:
    """``38.2 %``; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole > 0 else "-"


def format_count(count: int, singular: str, plural: str = "") -> str:
    """``1 sample``, ``5,421 samples``."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def format_duration(seconds: float) -> str:
    """``0.42 s``, ``12.3 s``, ``4 min 10 s``, ``2 h 5 min``."""
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
