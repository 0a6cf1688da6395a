"""The colours and axes that all pictures share."""

from typing import Any

from betarce.errors import InvalidInput, require

# Okabe and Ito's: told apart by everyone, on light and on dark ground.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"

MARKS: dict[str, dict[str, Any]] = {
    "original": {"marker": "o", "color": BLUE, "ms": 8, "mfc": "none", "mew": 2},
    "base": {"marker": "s", "color": GREY, "ms": 7},
    "robust": {"marker": "*", "color": GREEN, "ms": 15},
    "paper": {"marker": "D", "color": ORANGE, "ms": 8},
}
"""One mark for one kind of point, in every picture."""


def new_axes(ax: Any, width: float, height: float) -> Any:
    """Give the axes to draw on: those of the user, or new ones of so many inches."""
    plt = require("matplotlib.pyplot", extra="plot", purpose="A plot")
    if ax is not None and not hasattr(ax, "spines"):
        raise InvalidInput(f"`ax` must be axes of matplotlib, or None for new ones; got {ax!r}.")
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def bare(ax: Any) -> None:
    """Take away the frame and the scale below."""
    ax.spines[:].set_visible(False)
    ax.tick_params(axis="both", length=0)
    ax.set_xticks([])
