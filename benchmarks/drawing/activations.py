"""Of results/activations_compare*.json: a table a task, and accuracy against how much less is held."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from drawing.figures import BLUES, INK, OTHERS, QUIET, bare, headed
from drawing.markdown import table

Results = dict[str, Any]
# What a name begins with, and how it is drawn.
LOOKS = (
    ("sfpr", {"color": BLUES[1], "marker": "o"}),
    ("jpeg_act", {"color": BLUES[2], "marker": "s"}),
    ("comet", {"color": OTHERS[3], "marker": "D"}),
    ("ac_gc", {"color": OTHERS[0], "marker": "^"}),
    ("group", {"color": OTHERS[1], "marker": "v"}),
    ("gist", {"color": OTHERS[4], "marker": "P"}),
)


def tables(documents: Sequence[Results]) -> Iterator[str]:
    for document, task, arms in tasks(documents):
        peaks = document["peak_mib"][task.split(" on ")[0]]
        plain = arms["none"]
        rows = [row(name, arm, plain, peaks[name]) for name, arm in arms.items()]
        head = ("", "top-1", "against none", "ratio", "of convolution inputs", "peak, MiB", "step")
        yield f"### {task}\n\n{table(head, rows)}"


def row(name: str, arm: Results, plain: Results, peak: float) -> tuple[str, ...]:
    return (
        name,
        f"{arm['accuracy']:.1f} ± {arm.get('standard_deviation', 0):.1f}",
        f"{difference(arm, plain):+.1f} ± {error(arm, plain):.1f}",
        f"{arm['ratio']:.1f}x" if "ratio" in arm else "",
        f"{arm['ratio_of_convolution_inputs']:.1f}x" if "ratio" in arm else "",
        f"{peak:.0f}",
        f"{arm['step_ms'] / plain['step_ms']:.2f}",
    )


def difference(arm: Results, plain: Results) -> float:
    return float(arm["accuracy"] - plain["accuracy"])


def error(arm: Results, plain: Results) -> float:
    """The standard error of the mean difference; runs of a seed share batches, so it is that of pairs."""
    pairs = [a - b for a, b in zip(arm["runs"], plain["runs"], strict=True)]
    if len(pairs) < 2:
        return 0.0
    mean = sum(pairs) / len(pairs)
    return math.sqrt(sum((pair - mean) ** 2 for pair in pairs) / (len(pairs) - 1) / len(pairs))


def draw(documents: Sequence[Results]) -> Figure:
    """A drawing a task; up and to the right is better."""
    found = list(tasks(documents))
    columns = min(2, len(found))
    rows = math.ceil(len(found) / columns)
    size = (4.6 * columns, 1.2 + 3.2 * rows)
    figure = Figure(figsize=size, layout="constrained")
    below = f"difference in top-1 to training without compression; mean of {found[0][0]['seeds']} seeds"
    headed(figure, "Accuracy against how much less is held", f"{below} and its standard error")
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.75 / size[1]))
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, (_, task, arms) in zip(grid, found, strict=False):
        draw_task(axes, task, arms)
    for axes in grid[len(found) :]:
        axes.set_visible(False)
    return figure


def draw_task(axes: Axes, task: str, arms: Results) -> None:
    plain = arms["none"]
    axes.axhline(0, color=QUIET, linewidth=1)
    for name, arm in arms.items():
        look = next((look for begin, look in LOOKS if name.startswith(begin)), None)
        if look is None or "ratio" not in arm:
            continue
        y = difference(arm, plain)
        axes.errorbar(arm["ratio"], y, error(arm, plain), elinewidth=1, markersize=6, **look)
        axes.annotate(
            name, (arm["ratio"], y), (5, 5), textcoords="offset points", fontsize=7, color=INK, rotation=20
        )
    axes.set_xscale("log")
    axes.set_xticks([2, 4, 8, 16], ["2x", "4x", "8x", "16x"])
    axes.minorticks_off()
    axes.margins(x=0.12, y=0.2)
    axes.set_title(task)
    axes.set_xlabel("bytes saved for backward, over bytes held (float32)")
    axes.set_ylabel("top-1, points")
    bare(axes)


def tasks(documents: Sequence[Results]) -> Iterator[tuple[Results, str, Results]]:
    """Every task with the document that it is in."""
    for document in documents:
        for task, arms in document["results"].items():
            yield document, task, arms
