"""EXIF orientation: which of its eight values turn an image on its side."""

from __future__ import annotations

__all__ = ["TURNED"]

TURNED = 5
"""From this orientation on, width and height change places (EXIF 2.3, tag 0x0112)."""
