"""Of results/activations_compare*.json: a table a task, and accuracy against how much less is held."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from drawing.figures import BLUES, OTHERS, QUIET, bare, headed
from drawing.markdown import table

Results = dict[str, Any]
COMET, JPEG, GROUP = OTHERS[3], BLUES[2], OTHERS[1]
LOOKS: dict[str, Results] = {
    "sfpr": {"color": BLUES[1], "marker": "o"},
    "jpeg_act optL5H": {"color": JPEG, "marker": "s"},
    "jpeg_act optH": {"color": JPEG, "marker": "s", "fillstyle": "none"},
    "comet 0.01": {"color": COMET, "marker": "D"},
    "comet 0.02": {"color": COMET, "marker": "D", "fillstyle": "none"},
    "comet 0.01, jpeg_act": {"color": COMET, "marker": "p"},
    "ac_gc 0.5": {"color": OTHERS[0], "marker": "^"},
    "group 4 bits": {"color": GROUP, "marker": "v"},
    "group 2 bits": {"color": GROUP, "marker": "v", "fillstyle": "none"},
    "group 1 bit": {"color": GROUP, "marker": "1"},
    "gist": {"color": OTHERS[4], "marker": "P"},
}
# Parts of a document that may have been measured: what stands above the column, and what in it.
COSTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "peak_mib": ("peak, MiB", lambda peak: f"{peak:.0f}"),
    "steps": ("step", lambda step: f"{step['against_none']:.2f}"),
}
RATIOS = {"ratio": "of all that is saved", "ratio_of_convolution_inputs": "of what convolutions read"}


def tables(documents: Sequence[Results]) -> Iterator[str]:
    for document, task, arms in tasks(documents):
        net = task.split(" on ")[0]
        measured = {
            heading: {arm: how(found) for arm, found in document[part][net].items()}
            for part, (heading, how) in COSTS.items()
            if part in document
        }
        rows = [
            (*row(name, arm, arms["none"]), *(found[name] for found in measured.values()))
            for name, arm in arms.items()
        ]
        head = ("", "top-1", "against none", "ratio", "of convolution inputs", *measured)
        yield f"### {task}\n\n{table(head, rows)}"


def row(name: str, arm: Results, plain: Results) -> tuple[str, ...]:
    return (
        name,
        f"{arm['accuracy']:.1f} ± {arm.get('standard_deviation', 0):.1f}",
        f"{difference(arm, plain):+.1f} ± {error(arm, plain):.1f}",
        *(f"{arm[ratio]:.1f}x" if arm.get(ratio) else "" for ratio in RATIOS),
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
    """Two drawings a task, of all that is saved and of the inputs of convolutions; up and right is better."""
    found = list(tasks(documents))
    size = (9.2, 1.6 + 3.2 * len(found))
    figure = Figure(figsize=size, layout="constrained")
    below = f"difference in top-1 to training without compression; mean of {found[0][0]['seeds']} seeds"
    headed(figure, "Accuracy against how much less is held", f"{below} and its standard error")
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.75 / size[1]))
    grid = figure.subplots(len(found), len(RATIOS), squeeze=False)
    for row_of_axes, (_, task, arms) in zip(grid, found, strict=True):
        for axes, (ratio, of) in zip(row_of_axes, RATIOS.items(), strict=True):
            if any(arm.get(ratio) for arm in arms.values()):  # not all networks have convolutions
                draw_task(axes, arms, ratio)
                axes.set_title(f"{task}: {of}")
            else:
                axes.set_visible(False)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


def draw_task(axes: Axes, arms: Results, ratio: str) -> None:
    axes.axhline(0, color=QUIET, linewidth=1)
    for name, arm in arms.items():
        if name in LOOKS:
            y, spread = difference(arm, arms["none"]), error(arm, arms["none"])
            axes.errorbar(
                arm[ratio], y, spread, linestyle="none", elinewidth=1, markersize=6, label=name, **LOOKS[name]
            )
    axes.set_xscale("log")
    axes.set_xticks([2, 4, 8, 16], ["2x", "4x", "8x", "16x"])
    axes.minorticks_off()
    axes.margins(x=0.12, y=0.2)
    axes.set_xlabel("bytes saved for backward, over bytes held (float32)")
    axes.set_ylabel("top-1, points")
    bare(axes)


def tasks(documents: Sequence[Results]) -> Iterator[tuple[Results, str, Results]]:
    """Every task with the document that it is in."""
    for document in documents:
        for task, arms in document["results"].items():
            yield document, task, arms
