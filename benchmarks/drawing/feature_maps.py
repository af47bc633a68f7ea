"""Of results/feature_maps.json: bytes of maps, and what fewer of them cost, by codecs to choose from."""

from __future__ import annotations

from typing import Any

from drawing.markdown import table

Results = dict[str, Any]


def costs(document: Results) -> str:
    """Mean and standard deviation of the seeds."""
    head = ("codecs", "tolerance", "over 8 bits", "over float32", "top-1", "change")
    rows = [
        (
            family,
            tolerance,
            f"{spread(found, 'ratio', 2)}x",
            f"{found['ratio_over_float32']:.1f}x",
            spread(found, "accuracy", 1),
            spread(found, "change", 2, sign="+"),
        )
        for family, by_tolerance in document["results"].items()
        for tolerance, found in by_tolerance.items()
    ]
    return table(head, rows)


def spread(found: Results, name: str, digits: int, *, sign: str = "") -> str:
    deviation = found.get(f"{name}_standard_deviation", 0)
    return f"{found[name]:{sign}.{digits}f} ± {deviation:.{digits}f}"
