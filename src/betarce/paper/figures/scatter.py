"""Distance to base against what else moving the base point changes."""

from typing import Any

import numpy as np
import pandas as pd

from betarce.errors import require
from betarce.paper.figures.answers import in_order
from betarce.paper.figures.grid import panel_grid, plain_log_ticks
from betarce.plotting.sheet import NORMAL, SMALL

_PANEL = 1.6
_CHANGES = {
    "change_l1": "change of proximity, L1",
    "change_l2": "change of proximity, L2",
    "change_plausibility": "change of plausibility",
}
_BINS = 45


def scatter_frame(distances: pd.DataFrame, *, base: str, method: str, bins: int = _BINS) -> pd.DataFrame:
    """Count answers by distance to base and by each change, for one base method and one form of BetaRCE.

    Parameters
    ----------
    distances : DataFrame
        One line an answer: "family", "base", "method", "distance_to_base", and "change_l1", "change_l2" and
        "change_plausibility", each of the robust point less that of its base point.
    base, method : str
        Which lines to read.
    bins : int
        Parts that either range is cut into.

    Returns
    -------
    DataFrame
        One line per family, change and bin that is not empty: "rows" (lines read), "answers" (those that have both
        numbers), "correlation" (Pearson's, over all those), and of the bin the mean "distance_to_base", the mean "by"
        which it changed, and the "count".

    Examples
    --------
    >>> line = {"family": "network", "base": "dice", "method": "betarce", "change_l2": 0.0, "change_plausibility": 0.0}
    >>> distances = pd.DataFrame([line | {"distance_to_base": x, "change_l1": 2 * x} for x in (0.0, 0.5, 1.0)])
    >>> frame = scatter_frame(distances, base="dice", method="betarce")
    >>> frame.loc[frame["change"] == "change_l1", ["answers", "correlation", "distance_to_base", "by", "count"]]
       answers  correlation  distance_to_base   by  count
    0        3          1.0               0.0  0.0      1
    1        3          1.0               0.5  1.0      1
    2        3          1.0               1.0  2.0      1
    """
    own = distances[distances["base"].eq(base) & distances["method"].eq(method)]
    frames = [
        _binned(own[own["family"].eq(family)], change, bins).assign(family=family)
        for family in in_order(own["family"])
        for change in _CHANGES
    ]
    columns = ["family", "change", "rows", "answers", "correlation", "distance_to_base", "by", "count"]
    return pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)


def _binned(lines: pd.DataFrame, change: str, bins: int) -> pd.DataFrame:
    points = lines[["distance_to_base", change]].astype(float).dropna()
    x, y = (points[name].to_numpy() for name in points)
    varies = len(points) > 1 and np.ptp(x) > 0 and np.ptp(y) > 0
    cut = pd.DataFrame({"i": _bin(x, bins), "j": _bin(y, bins), "distance_to_base": x, "by": y})
    groups = cut.groupby(["i", "j"])
    found = groups.mean().assign(count=groups.size()).reset_index(drop=True)
    return found.assign(
        change=change,
        rows=len(lines),
        answers=len(points),
        correlation=float(np.corrcoef(x, y)[0, 1]) if varies else np.nan,
    )


def _bin(values: Any, bins: int) -> Any:
    if not len(values) or np.ptp(values) == 0:
        return np.zeros(len(values), int)
    return np.minimum((bins * (values - values.min()) / np.ptp(values)).astype(int), bins - 1)


def draw_scatter(frame: pd.DataFrame) -> Any:
    """Draw `scatter_frame`: families by changes; a dot is a bin, darker for more answers; gives the figure."""
    colors = require("matplotlib.colors", extra="plot", purpose="A figure")
    families = in_order(frame["family"])
    figure, axes = panel_grid(families, list(_CHANGES.values()), panel_height=_PANEL, share=False)
    norm = colors.LogNorm(1, max(2, frame["count"].max()))
    viridis = require("matplotlib", extra="plot", purpose="A figure").colormaps["viridis_r"]
    # Without the palest tones, which are lost on white.
    tones = colors.ListedColormap(viridis(np.linspace(0.2, 1, 256)))
    dots = None
    for (family, title), ax in axes.items():
        lines = frame[frame["family"].eq(family) & frame["change"].map(_CHANGES).eq(title)]
        ax.axhline(0, color="black", lw=0.6, zorder=1)
        dots = ax.scatter(
            lines["distance_to_base"], lines["by"], c=lines["count"], cmap=tones, norm=norm, s=5, lw=0, zorder=2
        )
        if len(lines):
            first = lines.iloc[0]
            told = f"r = {first['correlation']:.2f}, " if first["correlation"] == first["correlation"] else ""
            ax.annotate(
                f"{told}n = {first['answers']:,}",
                (0, 1),
                (3, -2),
                xycoords="axes fraction",
                textcoords="offset points",
                va="top",
                fontsize=SMALL,
            )
            low, high = lines["by"].min(), lines["by"].max()
            ax.set_ylim(min(low, 0) - 0.04 * (high - low) - 1e-6, high + 0.18 * (high - low) + 1e-6)
        if family == families[-1]:
            ax.set_xlabel("distance to base (L1)", fontsize=NORMAL)
    bar = figure.colorbar(dots, ax=list(axes.values()), fraction=0.02, pad=0.01, aspect=16 * len(families))
    bar.set_label("answers in a dot", fontsize=NORMAL)
    plain_log_ticks(bar.ax.yaxis)
    bar.ax.tick_params(labelsize=SMALL, length=2.5)
    return figure
