"""The time per row, against the delta that was asked for."""

from typing import Any

import pandas as pd

from betarce.paper.figures.answers import OURS, PAPER, in_order, sort_lines, words
from betarce.paper.figures.grid import (
    band,
    label_below,
    legend_below,
    panel_grid,
    plain_log_ticks,
    say_inside,
    ticks_at,
)
from betarce.paper.prepared import check_records
from betarce.paper.records import CELL
from betarce.plotting.sheet import DASHES, SERIES
from betarce.plotting.style import BLUE, GREY, ORANGE

_PANEL = 1.7
_LOOKS: dict[str, dict[str, Any]] = {
    PAPER: {"color": ORANGE, "lw": 1.3, "marker": "s", "ms": 2.8},
    OURS: {"color": BLUE, "lw": 1.3, "marker": "o", "ms": 2.8},
}
_BARE = {"color": GREY, "lw": 1.0, "ls": "--"}


def time_frame(records: pd.DataFrame) -> pd.DataFrame:
    """Compute the median time per row, and its quartiles.

    A record holds the time of its whole batch over its rows. So the median is over cells, each counted once: a data
    set, space and fold. Rows without an answer took their time too and are part of it. BetaRCE's time is its own: that
    of its base method in the same cell is taken off, as far as it has a record.

    Returns
    -------
    DataFrame
        One line per family, base, method, delta and confidence: "rows" asked, "timed" rows (all but those of methods
        that could not run), "answers" found, "cells", and "ms", "ms_low" and "ms_high", the median and quartiles.
        Base methods without BetaRCE are in the lines of their own base, with delta and confidence missing.
    """
    table = check_records(records)
    bare = table["base"].eq("") & table["method"].isin(table["base"].unique())
    table = table.assign(base=table["base"].mask(bare, table["method"]))
    table = table[bare | table["delta"].notna()]
    line = ["family", "base", "method", "delta", "confidence"]
    groups = table.groupby([*dict.fromkeys([*CELL, *line])], dropna=False, sort=False)
    cells = groups.agg(rows=("row", "size"), timed=("ms", "count"), answers=("found", "sum"), ms=("ms", "mean"))
    cells = cells.reset_index()
    place = [*CELL, "base"]
    alone = cells[cells["delta"].isna()].set_index(place)["ms"]
    before = pd.MultiIndex.from_frame(cells[place]).map(alone.to_dict()).to_numpy(float)
    cells["ms"] -= pd.Series(before).fillna(0.0).where(cells["delta"].notna(), 0.0)
    spread = cells.groupby(line, dropna=False, sort=False)
    frame = spread.agg(
        rows=("rows", "sum"),
        timed=("timed", "sum"),
        answers=("answers", "sum"),
        cells=("ms", "count"),
        ms=("ms", "median"),
        ms_low=("ms", lambda ms: ms.quantile(0.25)),
        ms_high=("ms", lambda ms: ms.quantile(0.75)),
    )
    return sort_lines(frame.reset_index(), line)


def draw_time(frame: pd.DataFrame, *, confidence: float) -> Any:
    """Draw `time_frame` on a log scale: base methods by families; gives the figure."""
    own = frame[frame["confidence"].eq(confidence) & frame["ms"].notna()]
    bare = frame[frame["delta"].isna() & frame["ms"].notna()]
    figure, axes = panel_grid(in_order(own["base"]), in_order(own["family"]), panel_height=_PANEL)
    looks = _looks(in_order(own["method"]))
    for (base, family), ax in axes.items():
        lines, level = (each[each["base"].eq(base) & each["family"].eq(family)] for each in (own, bare))
        if lines.empty:
            say_inside(ax, "no records")
        for method in in_order(lines["method"]):
            line = lines[lines["method"].eq(method)]
            band(ax, line["delta"], line["ms_low"], line["ms_high"], looks[method]["color"])
            ax.plot(line["delta"], line["ms"], label=method, **looks[method])
        for ms in level["ms"]:
            ax.axhline(ms, label=base, zorder=1.2, **_BARE)
        ax.set_yscale("log")
        plain_log_ticks(ax.yaxis)
        ticks_at(ax, sorted(own["delta"].unique()))
    label_below(axes, "delta")
    legend = {words(method): look for method, look in looks.items()}
    legend_below(figure, legend | ({"the base method alone": _BARE} if len(bare) else {}), ylabel="time per row (ms)")
    return figure


def _looks(methods: list[str]) -> dict[str, dict[str, Any]]:
    """Give each method its look; both forms of BetaRCE always have their own."""
    spare = [color for color in SERIES if color not in (BLUE, ORANGE, GREY)]  # three
    others = [method for method in methods if method not in _LOOKS]
    known = {method: _LOOKS[method] for method in methods if method in _LOOKS}
    return known | {
        method: {"color": spare[i % 3], "ls": DASHES[i // 3 % len(DASHES)], "lw": 1.1, "marker": "^", "ms": 2.8}
        for i, method in enumerate(others)
    }
