"""Counts of maps as a table."""

from __future__ import annotations

from collections.abc import Mapping

from halfbyte.activations.codecs.base import Codec
from halfbyte.activations.engine.tables import new_table, render
from halfbyte.activations.engine.units import format_ratio, format_share, format_size
from halfbyte.activations.feature_maps.count import MapCount, total_of

__all__ = ["draw_report"]

_COLUMNS = ("8 bits", "held", "over 8 bits", "over float32", "squared error")


def draw_report(counts: Mapping[str, MapCount], codecs: Mapping[str, Codec | None]) -> str:
    """A line for each map, in the order in which they came, and one for their sum."""
    table = new_table()
    table.add_column("map")
    table.add_column("codec")
    for header in _COLUMNS:
        table.add_column(header, justify="right", no_wrap=True)
    for name, count in counts.items():
        table.add_row(name, str(codecs[name]), *_cells(count))
    table.add_section()
    table.add_row("all maps", "", *_cells(total_of(counts.values())))
    return "\n".join(["Maps between layers", "", *render(table)])


def _cells(count: MapCount) -> list[str]:
    ratio = count.over_8_bits
    return [
        format_size(count.elements),
        format_size(count.held),
        format_ratio(ratio),
        format_ratio(4 * ratio),
        format_share(count.error),
    ]
