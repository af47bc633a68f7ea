"""How all pictures look, and how they are written."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Of Okabe and Ito's palette, which people with any colour vision can tell apart.
BLUES = ("#9ad4f6", "#56b4e9", "#0072b2")  # ours, from few bytes to all
OTHERS = ("#e69f00", "#009e73", "#cc79a7", "#d55e00", "#7b4fb5", "#9a8f2a", "#59636e", "#8c959f")
GREY, INK, QUIET = "#8c959f", "#24292f", "#6a737d"

mpl.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": INK,
        "axes.edgecolor": "#d0d7de",
        "axes.labelcolor": QUIET,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#eceef1",
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "svg.hashsalt": "halfbyte",  # the same figures give the same file
    }
)


def headed(figure: Figure, heading: str, below: str) -> None:
    """A heading, and a quiet line below it."""
    figure.suptitle(heading, x=0.01, y=0.99, ha="left", va="top", fontsize=14, fontweight="bold")
    inches = figure.get_size_inches()[1]
    figure.text(0.01, 1 - 0.42 / inches, below, color=QUIET, fontsize=9, va="top")


def bare(axes: Axes) -> None:
    """Without ticks' marks, as the grid shows where they are."""
    axes.tick_params(length=0)


def save(figure: Figure | None, path: Path) -> None:
    """As SVG without a date; nothing where there is no figure."""
    if figure is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
