"""Robustness between its credible bounds, against the delta that was asked for."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from betarce.paper.figures.answers import OURS, PAPER, in_order, over_answers, words
from betarce.paper.figures.grid import (
    GOAL,
    band,
    goal_line,
    label_below,
    legend_below,
    note_below,
    panel_grid,
    say_inside,
    ticks_at,
)
from betarce.paper.prepared import check_records
from betarce.plotting.sheet import SERIES
from betarce.plotting.style import BLUE, GREEN, GREY, ORANGE

_PANEL = 1.12  # inches: six rows fit a page
_YLABEL = "validity rate"
_LOOKS: dict[str, dict[str, Any]] = {
    "robustness": {"color": BLUE, "lw": 1.3, "marker": "o", "ms": 2.8},
    "lower_bound": {"color": ORANGE, "lw": 1.1, "ls": "--"},
    "upper_bound": {"color": GREEN, "lw": 1.1, "ls": (0, (5, 1, 1, 1))},
}
_MEANINGS = {
    "robustness": "measured robustness",
    "lower_bound": "lower bound",
    "upper_bound": "upper bound",
}
_BARE: dict[str, dict[str, Any]] = {
    "growing-spheres": {"color": GREY, "lw": 1.0},
    "dice": {"color": SERIES[3], "lw": 1.0, "ls": "-."},
}
_FORMS: dict[str, dict[str, Any]] = {
    PAPER: {"color": ORANGE, "lw": 1.2, "marker": "s", "ms": 2.6},
    OURS: {"color": BLUE, "lw": 1.2, "marker": "o", "ms": 2.8},
}

_OWNERS = {PAPER: "paper's", OURS: "ours"}


def bounds_frame(records: pd.DataFrame, *, family: str, base: str) -> pd.DataFrame:
    """Average robustness and both credible bounds over the answers, for one model family and one base method.

    Parameters
    ----------
    records : DataFrame
        See `betarce.paper.records.records_table`.
    family, base : str
        Which records to read.

    Returns
    -------
    DataFrame
        One line per data set, space, method, delta and confidence: "rows" asked, "answers" found, and over those the
        mean and standard deviation ("..._sd") of "robustness", "lower_bound" and "upper_bound". Base methods without
        BetaRCE have a line too, their delta, confidence and bounds missing.
    """
    table = check_records(records)
    bare = table["base"].eq("") & table["method"].isin(table["base"].unique())
    ours = table["base"].eq(base) & table["delta"].notna()
    table = table[table["family"].eq(family) & (ours | bare)]
    return over_answers(
        table,
        ["data", "space", "method", "delta", "confidence"],
        ["robustness", "lower_bound", "upper_bound"],
    )


def draw_bounds(frame: pd.DataFrame, method: str, *, confidence: float) -> Any:
    """Draw one form of BetaRCE from `bounds_frame` against delta: data sets by spaces; gives the figure.

    Bands are one standard deviation of the answers to either side; the dotted line is delta itself.
    """
    own = frame[frame["method"].eq(method) & frame["confidence"].eq(confidence)]
    return bounds_grid(own, frame[frame["delta"].isna()], x="delta")


def bounds_grid(own: pd.DataFrame, bare: pd.DataFrame, *, x: str) -> Any:
    """Draw lines of one method against `x`, those of the base methods without it as levels; gives the figure."""
    figure, axes = _grid(own)
    for ax, lines, levels in _panels(axes, own, bare):
        for value in reversed(_LOOKS):
            look = _LOOKS[value]
            spread = lines[f"{value}_sd"].fillna(0)
            band(
                ax,
                lines[x],
                (lines[value] - spread).clip(lower=0),
                (lines[value] + spread).clip(upper=1),
                look["color"],
            )
            ax.plot(lines[x], lines[value], label=value, **look)
        goal_line(ax, lines[x], lines["delta"])
        _levels(ax, levels)
        _tell_unanswered(ax, lines)
    low = min((own[value] - own[f"{value}_sd"].fillna(0)).min() for value in ("lower_bound", "robustness"))
    _finish(axes, own, bare, x=x, low=min(low, own["delta"].min()))
    goal = {"delta asked for": GOAL}
    looks = {_MEANINGS[value]: look for value, look in _LOOKS.items()} | goal | _bare_looks(bare)
    legend_below(figure, looks, ylabel=_YLABEL)
    return figure


def draw_both_bounds(frame: pd.DataFrame, *, confidence: float) -> Any:
    """Draw both forms of BetaRCE from `bounds_frame` against delta, robustness and lower bounds; gives the figure."""
    own = frame[frame["method"].isin(_FORMS) & frame["confidence"].eq(confidence)]
    bare = frame[frame["delta"].isna()]
    figure, axes = _grid(own)
    for ax, lines, levels in _panels(axes, own, bare):
        for method, look in _FORMS.items():
            form = lines[lines["method"].eq(method)]
            ax.plot(form["delta"], form["robustness"], label=method, **look)
            ax.plot(form["delta"], form["lower_bound"], label=f"{method} lower bound", **_as_bound(look))
        deltas = sorted(lines["delta"].unique())
        goal_line(ax, deltas, deltas)
        _levels(ax, levels)
        _tell_unanswered(ax, lines)
    _finish(axes, own, bare, x="delta", low=own[["lower_bound", "robustness", "delta"]].min().min())
    present = {method: look for method, look in _FORMS.items() if method in set(own["method"])}
    looks = {f"measured, {_OWNERS[method]}": look for method, look in present.items()}
    looks |= {f"lower bound, {_OWNERS[method]}": _as_bound(look) for method, look in present.items()}
    legend_below(figure, looks | {"delta asked for": GOAL} | _bare_looks(bare), ylabel=_YLABEL)
    return figure


def _grid(own: pd.DataFrame) -> tuple[Any, dict[tuple[str, str], Any]]:
    return panel_grid(in_order(own["data"]), in_order(own["space"]), panel_height=_PANEL)


def _panels(
    axes: dict[tuple[str, str], Any], own: pd.DataFrame, bare: pd.DataFrame
) -> list[tuple[Any, pd.DataFrame, pd.DataFrame]]:
    """Give each panel with its lines and levels; one without lines says so."""
    found = []
    for (data, space), ax in axes.items():
        lines, levels = (each[each["data"].eq(data) & each["space"].eq(space)] for each in (own, bare))
        if len(lines):
            found.append((ax, lines, levels))
        else:
            say_inside(ax, "no records")
    return found


def _levels(ax: Any, levels: pd.DataFrame) -> None:
    for method, value in zip(levels["method"], levels["robustness"], strict=True):
        if value == value:
            ax.axhline(value, zorder=1.2, label=method, **_bare_look(method))


def _bare_look(method: str) -> dict[str, Any]:
    return _BARE.get(method, {"color": SERIES[4], "lw": 1.0, "ls": (0, (1, 1))})


def _bare_looks(bare: pd.DataFrame) -> dict[str, dict[str, Any]]:
    shown = bare[bare["answers"] > 0]
    return {f"{words(method)} alone": _bare_look(method) for method in in_order(shown["method"])}


def _as_bound(look: dict[str, Any]) -> dict[str, Any]:
    return {"color": look["color"], "lw": 1.0, "ls": "--"}


def _tell_unanswered(ax: Any, lines: pd.DataFrame) -> None:
    """Say so where means leave rows out: they are over answers alone."""
    rows, answers = lines["rows"].sum(), lines["answers"].sum()
    if answers < rows:
        note_below(ax, f"{int(100 * answers / rows)} % answered")


def _finish(axes: dict[tuple[str, str], Any], own: pd.DataFrame, bare: pd.DataFrame, *, x: str, low: float) -> None:
    values: Sequence[float] = sorted(own[x].unique())
    margin = 0.04 * (values[-1] - values[0]) or 0.02
    low = min([low, *bare["robustness"].dropna()])
    for ax in axes.values():
        ticks_at(ax, values)
        ax.set(xlim=(values[0] - margin, values[-1] + margin), ylim=(max(low - 0.04, -0.02), 1.02))
    label_below(axes, x)
