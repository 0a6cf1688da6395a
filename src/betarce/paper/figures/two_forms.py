"""Our form of BetaRCE against the paper's: how far from the base point, and how robust."""

from typing import Any

import numpy as np
import pandas as pd

from betarce.errors import require
from betarce.paper.figures.answers import OURS, PAPER, in_order, sort_lines, words
from betarce.paper.figures.grid import legend_below, plain_log_ticks
from betarce.paper.prepared import check_records
from betarce.paper.records import CELL
from betarce.plotting.sheet import NORMAL, TWO_COLUMNS, tidy
from betarce.plotting.style import BLUE, GREEN, ORANGE

_LOOKS: dict[str, dict[str, Any]] = {
    "network": {"color": BLUE, "marker": "o", "ms": 4},
    "lightgbm": {"color": GREEN, "marker": "s", "ms": 3.6},
    "logistic": {"color": ORANGE, "marker": "D", "ms": 3.4},
}
_STEP = 0.24  # between families of one data set
_ROW = 0.46  # inches a data set


def forms_frame(records: pd.DataFrame, *, base: str) -> pd.DataFrame:
    """Compare both forms of BetaRCE row by row, from the points of one base method.

    Returns
    -------
    DataFrame
        One line per data set, family, delta and confidence, over all spaces and folds: "rows" asked of both,
        "answers_paper", "answers_ours", "pairs", the rows that both answered, and "moved", the pairs where at least one
        leaves the base point. Over those "ratio", the median of our distance to base over the paper's, infinite where
        ours alone moves, and its quartiles "ratio_low" and "ratio_high". Over all pairs the mean distances
        "distance_paper" and "distance_ours", and the mean robustness "robustness_paper" and "robustness_ours".
    """
    table = check_records(records)
    table = table[table["base"].eq(base)]
    keys = [*CELL, "row", "delta", "confidence"]
    sides = [table.loc[table["method"].eq(form), [*keys, "found", *_VALUES]] for form in (PAPER, OURS)]
    both = sides[0].merge(sides[1], on=keys, suffixes=("_paper", "_ours"))
    line = ["data", "family", "delta", "confidence"]
    found = [{**dict(zip(line, key, strict=True)), **_compared(rows)} for key, rows in both.groupby(line)]
    return sort_lines(pd.DataFrame(found, columns=[*line, *_COMPARED]), line)


_VALUES = ["distance_to_base", "robustness"]
_COMPARED = [
    *("rows", "answers_paper", "answers_ours", "pairs", "moved", "ratio", "ratio_low", "ratio_high"),
    *("distance_paper", "distance_ours", "robustness_paper", "robustness_ours"),
]


def _compared(rows: pd.DataFrame) -> dict[str, float]:
    pairs = rows[rows["found_paper"] & rows["found_ours"]]
    distances = pairs[["distance_to_base_paper", "distance_to_base_ours"]].to_numpy()
    paper, ours = distances[distances.max(axis=1) > 0].T if len(pairs) else np.empty((2, 0))
    ratio = np.divide(ours, paper, out=np.full(len(ours), np.inf), where=paper > 0)
    # Quantiles that are values themselves: between a number and infinity there is nothing to interpolate.
    low, middle, high = np.quantile(ratio, [0.25, 0.5, 0.75], method="inverted_cdf") if len(ratio) else [np.nan] * 3
    return {
        "rows": len(rows),
        "answers_paper": int(rows["found_paper"].sum()),
        "answers_ours": int(rows["found_ours"].sum()),
        "pairs": len(pairs),
        "moved": len(ratio),
        "ratio": middle,
        "ratio_low": low,
        "ratio_high": high,
        "distance_paper": pairs["distance_to_base_paper"].mean(),
        "distance_ours": pairs["distance_to_base_ours"].mean(),
        "robustness_paper": pairs["robustness_paper"].mean(),
        "robustness_ours": pairs["robustness_ours"].mean(),
    }


def draw_forms(frame: pd.DataFrame, *, delta: float, confidence: float) -> Any:
    """Draw `forms_frame` for one guarantee: ratios of distances at the left, robustness at the right.

    Gives the figure. At the right, hollow marks are the paper's form, filled ones ours.
    """
    plt = require("matplotlib.pyplot", extra="plot", purpose="A figure")
    own = frame[frame["delta"].eq(delta) & frame["confidence"].eq(confidence) & frame["pairs"].gt(0)]
    data, families = in_order(own["data"]), in_order(own["family"])
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(TWO_COLUMNS, max(_ROW * len(data), 0.9) + 0.9), layout="constrained", sharey=True
    )
    ratios = own[["ratio_low", "ratio", "ratio_high"]].to_numpy()
    ratios = ratios[np.isfinite(ratios) & (ratios > 0)]
    edges = 0.85 * ratios.min(initial=0.8), 1.18 * ratios.max(initial=1.25)
    for line in own.to_dict("records"):
        look = _look(line["family"], families)
        y = data.index(line["data"]) + _STEP * (families.index(line["family"]) - (len(families) - 1) / 2)
        name = f"{line['data']} {line['family']}"
        low, middle, high = np.clip([line["ratio_low"], line["ratio"], line["ratio_high"]], *edges)
        left.plot([low, high], [y, y], color=look["color"], lw=1.2)
        # An arrow says that the median lies outside.
        beyond = {"marker": ">" if middle == edges[1] else "<"} if middle in edges else {}
        left.plot(middle, y, ls="", label=name, clip_on=False, **(look | beyond))
        ends = [line["robustness_paper"], line["robustness_ours"]]
        right.plot(ends, [y, y], color=look["color"], lw=0.8)
        right.plot(ends[0], y, ls="", label=f"{name} paper", **look, mfc="white")
        right.plot(ends[1], y, ls="", label=f"{name} ours", **look)
    left.axvline(1, color="black", lw=0.8, ls=":")
    right.axvline(delta, color="black", lw=0.8, ls=":")
    left.set(xscale="log", xlim=edges, ylim=(len(data) - 0.5, -0.5))
    plain_log_ticks(left.xaxis)
    left.set_yticks(range(len(data)), [words(name) for name in data])
    tidy(left, xlabel="our distance to base / the paper's (median, quartiles)", ylabel="", title="< 1: ours is closer")
    tidy(right, xlabel="measured robustness (dotted: delta)", ylabel="", title="hollow: the paper's, filled: ours")
    right.set_xlim(right=1.005)
    for ax in (left, right):
        ax.tick_params(axis="y", length=0, labelsize=NORMAL)
        for edge in np.arange(0.5, len(data) - 1):
            ax.axhline(edge, color="#DDDDDD", lw=0.6, zorder=0)
    legend_below(figure, {words(family): {"ls": "", **_look(family, families)} for family in families})
    return figure


def _look(family: str, families: list[str]) -> dict[str, Any]:
    return _LOOKS.get(family) or {"color": "black", "marker": "^v<>"[families.index(family) % 4], "ms": 4}
