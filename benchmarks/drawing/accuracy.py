"""Of results/accuracy*.json: a table a data set, and accuracy against bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from drawing.figures import BLUES, GREY, INK, OTHERS, bare, headed
from drawing.markdown import table

Results = dict[str, Any]

FIXED, AGAIN = "fidelity ", "encoded again, "
# What a name begins with, how it is drawn, and what stands for it in the legend.
KINDS = (
    (FIXED, {"color": BLUES[2], "marker": "o"}, "one fidelity"),
    ("StaticQuality(0.95)", {"color": OTHERS[3], "marker": "D", "fillstyle": "none"}, "StaticQuality(0.95)"),
    ("StaticQuality(0.97)", {"color": OTHERS[3], "marker": "D"}, "StaticQuality(0.97)"),
    (
        "GradientSimilarity(0.9)",
        {"color": OTHERS[1], "marker": "s", "fillstyle": "none"},
        "GradientSimilarity(0.9)",
    ),
    ("GradientSimilarity(0.995)", {"color": OTHERS[1], "marker": "s"}, "GradientSimilarity(0.995)"),
    ("LossProbe", {"color": OTHERS[2], "marker": "^"}, "LossProbe"),
    ("Schedule", {"color": OTHERS[4], "marker": "v"}, "a schedule"),
    ("last epoch", {"color": OTHERS[0], "marker": "*"}, "StaticQuality(0.97), last epoch in full"),
    ("Mixture", {"color": OTHERS[5], "marker": "P"}, "a mixture"),
    (AGAIN + "lower", {"color": GREY, "marker": "X"}, "encoded again, lower quality"),
    (AGAIN + "smaller", {"color": INK, "marker": "x"}, "encoded again, smaller"),
)


def tables(documents: Sequence[Results]) -> Iterator[str]:
    for document, name, result in sets(documents):
        rows = [row(arm, own, seeds_of(result)) for arm, own in result["arms"].items()]
        yield f"### {name}\n\n{caption(document, result)}"
        yield table(("training images", "bytes read", "accuracy", "against full", "at parity"), rows)


def row(name: str, arm: Results, seeds: int) -> tuple[str, ...]:
    if len(arm["runs"]) < seeds:
        name += f" ({len(arm['runs'])} of {seeds} seeds)"
    spread = f" ± {arm['standard_deviation']:.1f}" if "standard_deviation" in arm else ""
    error = arm.get("standard_error_of_difference")
    if arm["bytes_against_full"] == 1:
        return (name, "100.0%", f"{arm['accuracy']:.1f}{spread}", "", "")
    return (
        name,
        f"{arm['bytes_against_full']:.1%}",
        f"{arm['accuracy']:.1f}{spread}",
        f"{arm['against_full']:+.1f}" + ("" if error is None else f" ± {error:.1f}"),
        {True: "yes", False: "no"}.get(arm.get("at_parity"), ""),
    )


def caption(document: Results, result: Results) -> str:
    return (
        f"{result['images']:,} training images of {document['photos']}, {result['classes']} classes, tested "
        f"on {result['tests']:,}; {document['epochs']} epochs, {seeds_of(result)} seeds."
    )


def seeds_of(result: Results) -> int:
    return max(len(arm["runs"]) for arm in result["arms"].values())


def draw(documents: Sequence[Results]) -> Figure:
    """A drawing a data set; the band is one standard error about the accuracy of full fidelity."""
    found = list(sets(documents))
    columns = min(2, len(found))
    rows = math.ceil(len(found) / columns)
    size = (4.6 * columns, 1.5 + 3.1 * rows)
    figure = Figure(figsize=size, layout="constrained")
    headed(
        figure,
        "Accuracy against bytes read in training",
        "the same network, seeds and crops; means over seeds and their standard errors; "
        "all tested at full fidelity",
    )
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.75 / size[1]))
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, (_, name, result) in zip(grid, found, strict=False):
        draw_set(axes, name, result)
    for axes in grid[len(found) :]:
        axes.set_visible(False)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def draw_set(axes: Axes, name: str, result: Results) -> None:
    arms = result["arms"]
    full = next(arm for arm in arms.values() if arm["bytes_against_full"] == 1)
    error = standard_error(full)
    axes.axhspan(full["accuracy"] - error, full["accuracy"] + error, color=BLUES[0], alpha=0.3, linewidth=0)
    for begin, look, label in KINDS:
        own = [arm for arm_name, arm in arms.items() if arm_name.startswith(begin)]
        if not own:
            continue
        own.sort(key=lambda arm: arm["bytes_against_full"])
        axes.errorbar(
            [100 * arm["bytes_against_full"] for arm in own],
            [arm["accuracy"] for arm in own],
            [standard_error(arm) for arm in own],
            linestyle="-" if begin == FIXED else "none",
            linewidth=1.3,
            elinewidth=1,
            markersize=6,
            label=label,
            **look,
        )
    axes.set_title(f"{name}: {result['images']:,} images, {result['classes']} classes")
    axes.set_xlabel("bytes read, % of full fidelity")
    axes.set_ylabel("top-1, %")
    axes.set_xlim(left=0)
    bare(axes)


def standard_error(arm: Results) -> float:
    return arm.get("standard_deviation", 0.0) / math.sqrt(len(arm["runs"]))


def sets(documents: Sequence[Results]) -> Iterator[tuple[Results, str, Results]]:
    """Every data set with the document that it is in."""
    for document in documents:
        for name, result in document["results"].items():
            yield document, name, result
