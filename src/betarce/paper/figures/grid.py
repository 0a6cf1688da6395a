"""Grids of small panels of printed size: names of rows at the left, of columns on top, one legend below all."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from betarce.errors import require
from betarce.paper.figures.answers import words
from betarce.plotting.sheet import NORMAL, ONE_COLUMN, SMALL, TWO_COLUMNS, tidy
from betarce.safe_text import in_picture

_AROUND = 0.75  # inches above and below the panels: titles, labels, the legend
GOAL: dict[str, Any] = {"color": "black", "lw": 0.8, "ls": ":"}
_NOTE = "#555555"
_LEGEND_LINE, _LETTER, _LEGEND_ROW = 0.48, 0.058, 0.14  # inches, of small letters
_TICKS = 8  # at most, and one more


def panel_grid(
    rows: Sequence[str], columns: Sequence[str], *, panel_height: float, share: bool = True
) -> tuple[Any, dict[tuple[str, str], Any]]:
    """Give a figure, and its axes by the names of row and column; unless told otherwise, all share both scales.

    A single column is as wide as one column of print, more are as wide as two.
    """
    plt = require("matplotlib.pyplot", extra="plot", purpose="A figure")
    # A lone panel needs more room than one among many.
    height = max(len(rows) * panel_height, 1.7) + _AROUND
    figure, axes = plt.subplots(
        len(rows),
        len(columns),
        figsize=(ONE_COLUMN if len(columns) == 1 else TWO_COLUMNS, height),
        layout="constrained",
        sharex=share,
        sharey=share,
        squeeze=False,
    )
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
    named = {}
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            ax = axes[i, j]
            tidy(ax, xlabel="", ylabel="")
            if j == 0:
                ax.set_ylabel(words(row), fontsize=NORMAL, weight="bold")
            if i == 0:
                ax.set_title(words(column), fontsize=NORMAL, weight="bold", loc="left")
            named[row, column] = ax
    return figure, named


def label_below(axes: Mapping[tuple[str, str], Any], xlabel: str) -> None:
    """Name the x-axis below the last row."""
    last = list(axes)[-1][0]
    for (row, _), ax in axes.items():
        if row == last:
            ax.set_xlabel(xlabel, fontsize=NORMAL)


def legend_below(figure: Any, looks: Mapping[str, Mapping[str, Any]], *, ylabel: str = "") -> None:
    """Explain lines once, below all panels: words by look; name the y-axis once, beside all panels."""
    lines = require("matplotlib.lines", extra="plot", purpose="A figure")
    handles = [lines.Line2D([], [], label=in_picture(label), **look) for label, look in looks.items()]
    n_columns = legend_columns(list(looks), figure.get_figwidth())
    n_rows = -(-len(looks) // n_columns)
    # Every further row of the legend would take its height from the panels.
    height = figure.get_figheight() + _LEGEND_ROW * (n_rows - 1)
    figure.set_figheight(height)
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=n_columns,
        fontsize=SMALL,
        frameon=False,
        handlelength=2.6,
        columnspacing=1.4,
    )
    if ylabel:
        below, above = 0.4 + _LEGEND_ROW * n_rows, 0.2  # inches that are no panel
        figure.supylabel(ylabel, fontsize=NORMAL, y=(below + height - above) / (2 * height))


def legend_columns(labels: Sequence[str], width: float) -> int:
    """Say in how many columns a legend of this width, in inches, can be set.

    Examples
    --------
    >>> legend_columns(["lower bound", "upper bound", "measured robustness"], 3.4)
    2
    """
    for n_rows in range(1, len(labels)):
        n_columns = -(-len(labels) // n_rows)
        columns = np.array_split([len(label) for label in labels], n_columns)
        if sum(_LEGEND_LINE + _LETTER * lengths.max() for lengths in columns) <= width:
            return n_columns
    return 1


def say_inside(ax: Any, text: str) -> None:
    """Write a note into the middle of an empty panel."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, fontsize=SMALL, color=_NOTE, ha="center", va="center")


def note_below(ax: Any, text: str) -> None:
    """Write a note into the lower right corner of a panel."""
    ground = {"fc": "white", "ec": "none", "alpha": 0.8, "pad": 0.8}
    ax.text(0.99, 0.04, text, transform=ax.transAxes, fontsize=SMALL, color=_NOTE, ha="right", zorder=6, bbox=ground)


def ticks_at(ax: Any, values: Sequence[float]) -> None:
    """Put the ticks of the x-axis where something was measured, but no two so close that their words touch."""
    kept: list[float] = []
    for value in sorted(values, reverse=True):
        if not kept or kept[-1] - value >= (max(values) - min(values)) / _TICKS:
            kept.append(value)
    ax.set_xticks(kept, [f"{value:g}" for value in kept])


def band(ax: Any, x: Any, low: Any, high: Any, color: str) -> None:
    """Shade between two lines."""
    ax.fill_between(x, low, high, color=color, alpha=0.15, lw=0, zorder=1)


def goal_line(ax: Any, x: Any, y: Any, color: Any = "black") -> None:
    """Draw what was asked for, quietly."""
    ax.plot(x, y, zorder=1.5, **(GOAL | {"color": color}))


def plain_log_ticks(axis: Any) -> None:
    """Write the ticks of a log scale as plain numbers, at 1, 2 and 5 of every power of ten."""
    ticker = require("matplotlib.ticker", extra="plot", purpose="A figure")
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(ticker.NullLocator())
