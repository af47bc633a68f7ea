"""Quantization tables of the DCT: 64 step sizes, one for each pair of frequencies."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

__all__ = ["OPT_H", "OPT_L", "OPT_S_H", "OPT_S_L", "Table", "checked_table", "jpeg", "steps"]

Table: TypeAlias = tuple[tuple[int, ...], ...]
"""Eight rows, one a vertical frequency from 0 up, of eight integers from 1 to 255, one a horizontal
frequency.
"""

# The four of JPEG-ACT (Evans, Liu and Aamodt, ISCA 2020), as its authors published them
# (github.com/rdevans0/jpeg_act, QUANT_TABLES). They were optimized for rate and error on activations of
# ResNet-50: `OPT_L` for low error, to begin training with, `OPT_H` for high compression. The first entry was
# pinned to 8, since batch normalization reads means.

OPT_L: Table = (
    (8, 7, 7, 7, 7, 6, 6, 6),
    (8, 7, 7, 7, 6, 6, 6, 6),
    (7, 7, 6, 6, 6, 6, 6, 6),
    (7, 6, 6, 6, 6, 6, 5, 5),
    (7, 6, 6, 6, 6, 6, 5, 5),
    (7, 6, 6, 6, 6, 6, 5, 5),
    (7, 6, 6, 6, 6, 5, 5, 5),
    (6, 6, 6, 6, 5, 5, 5, 5),
)

OPT_H: Table = (
    (8, 26, 25, 25, 24, 24, 23, 22),
    (26, 24, 24, 23, 22, 22, 21, 20),
    (26, 24, 24, 23, 22, 21, 20, 20),
    (25, 23, 23, 22, 21, 21, 20, 19),
    (25, 23, 22, 21, 21, 20, 19, 19),
    (24, 22, 21, 20, 20, 20, 19, 19),
    (23, 21, 20, 20, 19, 19, 19, 19),
    (22, 20, 20, 19, 19, 19, 19, 19),
)

# Powers of two, for shifts. The authors say that these are 2 ** rint(log2(...)) of the above. That is so for
# OPT_S_H; of OPT_L's entries of 5 it would make 4, but what they published, and used in their runs, has 8
# throughout.

OPT_S_L: Table = ((8,) * 8,) * 8

OPT_S_H: Table = (
    (8, 32, 32, 32, 32, 32, 32, 16),
    (32, 32, 32, 32, 16, 16, 16, 16),
    (32, 32, 32, 32, 16, 16, 16, 16),
    (32, 32, 32, 16, 16, 16, 16, 16),
    (32, 32, 16, 16, 16, 16, 16, 16),
    (32, 16, 16, 16, 16, 16, 16, 16),
    (32, 16, 16, 16, 16, 16, 16, 16),
    (16, 16, 16, 16, 16, 16, 16, 16),
)

# ITU-T T.81, table K.1.
_LUMINANCE: Table = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)

_NAMED = {"optL": OPT_L, "optH": OPT_H, "optsL": OPT_S_L, "optsH": OPT_S_H}


def jpeg(quality: int) -> Table:
    """JPEG's luminance table at a quality from 1 to 100, as the Independent JPEG Group's library scales it.

    Raises:
        ValueError: quality is not between 1 and 100.

    Source: ITU-T T.81, table K.1; libjpeg's `jpeg_quality_scaling`.
    """
    if not 1 <= quality <= 100:
        raise ValueError(f"quality is {quality}, expected 1 to 100")
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    return tuple(
        tuple(min(max((entry * percent + 50) // 100, 1), 255) for entry in row) for row in _LUMINANCE
    )


def checked_table(table: str | Sequence[Sequence[int]]) -> Table:
    """The table of this name ("optL", "optH", "optsL", "optsH", "jpeg80" for `jpeg(80)`), or these 8 rows of
    8.

    Raises:
        ValueError: no table has this name; or there are not 8 rows of 8 integers from 1 to 255.
    """
    if isinstance(table, str):
        if quality := re.fullmatch(r"jpeg(\d{1,3})", table):
            return jpeg(int(quality[1]))
        if table not in _NAMED:
            raise ValueError(f"table is {table!r}, expected one of {', '.join(_NAMED)}, or jpeg1 to jpeg100")
        return _NAMED[table]
    rows = tuple(tuple(row) for row in table)
    if [len(row) for row in rows] != [8] * 8:
        raise ValueError(f"table has rows of {[len(row) for row in rows]} entries, expected 8 rows of 8")
    for entry in (entry for row in rows for entry in row):
        if not isinstance(entry, int) or not 1 <= entry <= 255:
            raise ValueError(f"table has an entry {entry!r}, expected integers from 1 to 255")
    return rows


def steps(table: Table, quantize: Literal["shift", "divide"]) -> tuple[int, ...]:
    """What coefficients are divided by, row by row: the entries, or the nearest powers of two in the
    logarithm (so up to 256).
    """
    entries = tuple(entry for row in table for entry in row)
    if quantize == "divide":
        return entries
    return tuple(1 << round(math.log2(entry)) for entry in entries)
