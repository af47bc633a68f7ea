"""Bytes and ratios, as people read them."""

from __future__ import annotations

import math

__all__ = ["format_ratio", "format_share", "format_size"]

_PREFIXES = "KMGT"


def format_size(size: float) -> str:
    """In powers of 1024, as memory is counted: ``812 B``, ``9.41 KiB``, ``125.8 MiB``."""
    if size < 1024:
        return f"{size:.0f} B"
    for prefix in _PREFIXES:
        size /= 1024
        if size < 1023.95 or prefix == _PREFIXES[-1]:
            break
    return f"{size:.2f} {prefix}iB" if size < 9.995 else f"{size:.1f} {prefix}iB"


def format_ratio(ratio: float) -> str:
    """``6.6x``, ``132x``; ∞ where nothing is left."""
    if math.isinf(ratio):
        return "∞"
    return f"{ratio:.1f}x" if ratio < 99.95 else f"{ratio:.0f}x"


def format_share(share: float | None) -> str:
    """``0.92 %``, ``16 %``; a dash where it is not known."""
    if share is None:
        return "-"
    percent = 100 * share
    if percent == 0 or not math.isfinite(percent):
        return f"{percent:g}"
    if percent < 0.01:
        return "< 0.01 %"
    return f"{percent:#.2g} %" if percent < 9.95 else f"{percent:.0f} %"
