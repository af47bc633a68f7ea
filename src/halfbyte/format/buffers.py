"""What counts as bytes here."""

from __future__ import annotations

__all__ = ["Buffer"]

Buffer = bytes | bytearray | memoryview
