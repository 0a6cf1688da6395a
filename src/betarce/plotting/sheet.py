"""Axes of printed size: as wide as one column or two, no letter below seven points."""

from io import BytesIO
from pathlib import Path
from typing import Any

from betarce.errors import require
from betarce.plotting.style import BLUE, GREEN, GREY, ORANGE, new_axes
from betarce.storage.files import write_whole

ONE_COLUMN, TWO_COLUMNS = 3.4, 7.0  # inches
SMALL, NORMAL = 7, 8  # points
SERIES = (BLUE, ORANGE, GREEN, "#CC79A7", "#56B4E9", GREY)
DASHES = ("-", "--", ":", "-.")
_DOTS_PER_INCH = 200


def column_axes(ax: Any) -> Any:
    """Give the axes to draw on: those of the user, or new ones as wide as a column."""
    return new_axes(ax, ONE_COLUMN, 2.4)


def panels(n_rows: int, n_columns: int, height: float) -> tuple[Any, Any]:
    """Give a figure as wide as two columns, and its axes in reading order."""
    plt = require("matplotlib.pyplot", extra="plot", purpose="A figure")
    figure, axes = plt.subplots(n_rows, n_columns, figsize=(TWO_COLUMNS, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.05, h_pad=0.06, rect=(0, 0, 1, 0.98))
    return figure, axes.ravel()


def tidy(ax: Any, *, xlabel: str, ylabel: str, title: str = "") -> None:
    """Label the axes in printed sizes, and take away what carries no information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, length=2.5)
    ax.set_xlabel(xlabel, fontsize=NORMAL)
    ax.set_ylabel(ylabel, fontsize=NORMAL)
    if title:
        ax.set_title(title, fontsize=NORMAL, loc="left")


def save_png(figure: Any, path: Path) -> Path:
    """Write a figure as PNG and close it."""
    plt = require("matplotlib.pyplot", extra="plot", purpose="A figure")
    drawn = BytesIO()
    figure.savefig(drawn, dpi=_DOTS_PER_INCH, format="png")
    plt.close(figure)
    return write_whole(path, drawn.getvalue())
