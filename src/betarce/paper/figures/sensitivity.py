"""What the choice of confidence and of the number of models changes."""

from itertools import product
from typing import Any

import pandas as pd

from betarce.errors import require
from betarce.paper.figures.answers import OURS, PAPER, in_order, over_answers, words
from betarce.paper.figures.bounds import bounds_grid
from betarce.paper.figures.grid import (
    GOAL,
    band,
    goal_line,
    label_below,
    legend_below,
    panel_grid,
    say_inside,
    ticks_at,
)
from betarce.paper.prepared import check_records
from betarce.plotting.sheet import DASHES
from betarce.plotting.style import BLUE, ORANGE

_PANEL = 1.12
_MARKERS = "osD^v"
_MEASURES = {
    "width": "width of the interval",
    "robustness": "measured robustness",
    "distance_to_base": "distance to base (L1)",
}
_NAMES = {title: measure for measure, title in _MEASURES.items()}
_FORMS = (PAPER, OURS)


def draw_confidence_bounds(frame: pd.DataFrame, method: str, *, delta: float) -> Any:
    """Draw robustness between its bounds against confidence, from `bounds_frame`; gives the figure.

    Bands are one standard deviation of the answers to either side; the dotted line is delta.
    """
    own = frame[frame["method"].eq(method) & frame["delta"].eq(delta)]
    return bounds_grid(own, frame[:0], x="confidence")


def draw_confidence(frame: pd.DataFrame, method: str) -> Any:
    """Draw measured robustness against confidence from `bounds_frame`, a line for each delta; gives the figure."""
    own = frame[frame["method"].eq(method)]
    looks = delta_looks(own)
    figure, axes = panel_grid(in_order(own["data"]), in_order(own["space"]), panel_height=_PANEL)
    values = sorted(own["confidence"].unique())
    margin = 0.04 * (values[-1] - values[0]) or 0.02
    for (data, space), ax in axes.items():
        here = own[own["data"].eq(data) & own["space"].eq(space)]
        if here.empty:
            say_inside(ax, "no records")
        for delta in sorted(here["delta"].unique()):
            lines = here[here["delta"].eq(delta)]
            goal_line(ax, [values[0], values[-1]], [delta, delta], looks[delta]["color"])
            ax.plot(lines["confidence"], lines["robustness"], label=f"{delta:g}", **looks[delta])
        ticks_at(ax, values)
        ax.set_xlim(values[0] - margin, values[-1] + margin)
        ax.set_ylim(own[["robustness", "delta"]].min().min() - 0.04, 1.02)
    label_below(axes, "confidence")
    legend = {f"delta {delta:g}": look for delta, look in looks.items()}
    legend_below(figure, legend | {"delta asked for": GOAL}, ylabel="measured robustness")
    return figure


def models_frame(records: pd.DataFrame, *, family: str, base: str) -> pd.DataFrame:
    """Average what depends on the number of models, for one model family and base method.

    Methods may have any names: those whose certificates count the members that searched are the paper's form, the
    others ours. A row without an answer has no certificate; it counts for the `n_models` of the other rows of its
    method, delta and confidence, where all of them agree on one.

    Returns
    -------
    DataFrame
        One line per data set, space, form ("betarce-paper" or "betarce"), delta, confidence and n_models (missing where
        nobody can tell): "rows" asked, "answers" found, and over those the mean and standard deviation ("..._sd") of
        "width" (of the credible interval), "robustness" and "distance_to_base".
    """
    table = check_records(records)
    table = table[table["family"].eq(family) & table["base"].eq(base) & table["delta"].notna()]
    setting = table.groupby(["method", "delta", "confidence"])["n_models"]
    alone = setting.transform("nunique").eq(1)
    searching = table.groupby("method")["members"].transform(lambda members: members.eq("search").any())
    named_so = table["method"].str.startswith(PAPER) & table.groupby("method")["n_models"].transform("count").eq(0)
    table = table.assign(
        n_models=table["n_models"].fillna(setting.transform("max").where(alone)),
        form=(searching | named_so).map({True: PAPER, False: OURS}),
        width=table["upper_bound"] - table["lower_bound"],
    )
    return over_answers(table, ["data", "space", "form", "delta", "confidence", "n_models"], list(_MEASURES))


def several_models(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the lines of `models_frame` that can be compared: same setting, more than one number of models."""
    known = frame[frame["n_models"].notna()]
    setting = known.groupby(["data", "space", "form", "delta", "confidence"])["n_models"]
    return known[setting.transform("nunique") > 1]


def draw_models(frame: pd.DataFrame, *, confidence: float) -> Any:
    """Draw `models_frame`: data sets and spaces by measures, colours are deltas, dashes are forms; gives the figure.

    Bands are one standard deviation of the answers to either side, of the width alone: elsewhere they would overlap.
    """
    own = several_models(frame[frame["confidence"].eq(confidence)])
    looks = delta_looks(own)
    places = {
        f"{words(data)}\n{space}": own[own["data"].eq(data) & own["space"].eq(space)]
        for data, space in product(in_order(own["data"]), in_order(own["space"]))
    }
    places = {place: lines for place, lines in places.items() if len(lines)}
    figure, axes = panel_grid(list(places), list(_MEASURES.values()), panel_height=_PANEL, share=False)
    forms = [form for form in _FORMS if form in set(own["form"])]
    for (place, title), ax in axes.items():
        measure, here = _NAMES[title], places[place]
        for form, delta in product(forms, looks):
            lines = here[here["form"].eq(form) & here["delta"].eq(delta)]
            look = looks[delta] | _form_look(form, alone=len(looks) == 1)
            ax.plot(lines["n_models"], lines[measure], label=f"{form} {delta:g}", **look)
            if measure == "width":
                spread = lines["width_sd"].fillna(0)
                band(ax, lines["n_models"], lines["width"] - spread, lines["width"] + spread, look["color"])
        if measure == "robustness":
            for delta, look in looks.items():
                color = look["color"] if len(looks) > 1 else "black"
                goal_line(ax, own["n_models"].agg(["min", "max"]), [delta, delta], color)
            ax.set_ylim(top=1.02)
        else:
            ax.set_ylim(bottom=0)
        ticks_at(ax, sorted(own["n_models"].unique()))
    label_below(axes, "number of models")
    legend = {f"delta {delta:g}": look for delta, look in looks.items()} if len(looks) > 1 else {}
    legend |= {words(form): {"color": "black", "lw": 1.2} | _form_look(form, alone=len(looks) == 1) for form in forms}
    legend_below(figure, legend | {"delta asked for": GOAL})
    return figure


def _form_look(form: str, *, alone: bool) -> dict[str, Any]:
    """Tell forms apart by dashes, and where there is one delta alone by the colours of other figures too."""
    dash = {"ls": DASHES[0] if form == OURS else DASHES[1]}
    return dash | ({"color": BLUE if form == OURS else ORANGE} if alone else {})


def delta_looks(frame: pd.DataFrame) -> dict[float, dict[str, Any]]:
    """Give each delta of a frame its colour, darker for more, and its mark."""
    colormaps = require("matplotlib", extra="plot", purpose="A figure").colormaps
    deltas = sorted(frame["delta"].dropna().unique())
    places = [0.5] if len(deltas) == 1 else [0.8 * (1 - i / (len(deltas) - 1)) for i in range(len(deltas))]
    return {
        delta: {"color": colormaps["viridis"](place), "lw": 1.2, "marker": _MARKERS[i % len(_MARKERS)], "ms": 2.8}
        for i, (delta, place) in enumerate(zip(deltas, places, strict=True))
    }
