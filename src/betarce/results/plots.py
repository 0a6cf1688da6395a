"""Plots of results: each is computed as a DataFrame first, then drawn."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray
from betarce.errors import UnreachableGuarantee
from betarce.plotting.style import BLUE, GREEN, GREY, MARKS, ORANGE, bare, new_axes
from betarce.posterior import Certificate, percent
from betarce.results.changes import Change, changed, largest, roughly, row_title
from betarce.safe_text import in_picture

if TYPE_CHECKING:
    from betarce.results.counterfactual import RobustCounterfactual

_POINTS = ("original", "base", "robust")
_MOST_FEATURES = 30
_MOST_ROWS = 40
_LONGEST = 24  # letters of a name or value
_RAIL = 4.0  # inches of a range
_MISSING = -0.12  # left of the range
_SMALL, _NORMAL = 7.5, 9
# Colour, opacity, top and height of a cell: tall and pale against low and strong is told apart without colour, too.
_VOTES = {"agrees": (BLUE, 0.5, -0.36, 0.72), "dissents": (ORANGE, 1.0, -0.02, 0.38)}


def change_frame(item: "RobustCounterfactual") -> pd.DataFrame:
    """Say where the change chart of one answer puts its marks.

    Returns
    -------
    DataFrame
        Three lines per feature that differs, in the order of the table: "feature", "point" ("original", "base" or
        "robust"), "position" (0 is the low end of the training range and 1 the high end; a missing value lies left of
        it; names without an order go from 0, where the row is now, to 1), "text" (the value in original units), and
        "low", "high" (the ends of the range; "" for names without an order).
    """
    lines = []
    for change in largest(changed(item), _MOST_FEATURES):
        ends = ("", "") if change.column.is_nominal else _ends(change)
        for point, position, text in zip(_POINTS, _positions(change), change.texts, strict=True):
            lines.append([change.title, point, position, text, *ends])
    columns = ["feature", "point", "position", "text", "low", "high"]
    return pd.DataFrame(lines, columns=columns).astype({"position": float})


def _ends(change: Change) -> tuple[str, ...]:
    return tuple(roughly(change.column, end) for end in (change.column.lower, change.column.upper))


def _positions(change: Change) -> FloatArray:
    column, values = change.column, change.values
    if column.is_nominal:
        places = {change.texts[0]: 0.0}
        places.setdefault(change.texts[2], 1.0)
        places.setdefault(change.texts[1], 0.5 if len(places) == 2 else 1.0)
        return np.array([places[text] for text in change.texts])
    low, high = column.lower, column.upper
    share = (values - low) / (high - low) if high > low else 0.5 + (values - low) / column.scale
    return np.where(np.isnan(values), _MISSING, share)


def draw_changes(item: "RobustCounterfactual", ax: Any = None) -> Any:
    """Draw original, base and robust values of every feature that differs; gives the matplotlib axes."""
    frame = change_frame(item)
    n = len(frame) // 3
    names = [_short(name) for name in frame["feature"][::3]]
    left, right = _rooms(frame)
    ax = new_axes(ax, _RAIL + left + right + _inches(names), 1.25 + 0.5 * max(n, 1))
    ax.set_title(_change_title(item), loc="left", fontsize=_NORMAL + 1)
    bare(ax)
    ax.set_yticks(range(n), names)
    if not n:
        ax.text(0, 0.5, _filled(item.reason or "Nothing has to change."), transform=ax.transAxes, va="center")
        return ax
    for i in range(n):
        _draw_change(ax, i, frame.iloc[3 * i : 3 * i + 3])
    ax.set_ylim(n - 0.4, -0.6)
    low, high = min(0.0, frame["position"].min()), max(1.0, frame["position"].max())
    inch = (high - low) / _RAIL
    ax.set_xlim(low - left * inch, high + right * inch)
    _mark_legend(ax)
    return ax


def _rooms(frame: pd.DataFrame) -> tuple[float, float]:
    """Give the inches that labels need at both sides of the rails."""
    if frame.empty:
        return 0.0, 2.0
    by_feature = frame.groupby("feature", sort=False)["position"]
    outer = (frame["position"] == by_feature.transform("min"), frame["position"] == by_feature.transform("max"))
    left, right = (_inches([_short(text) for text in frame["text"][at]]) + 0.3 for at in outer)
    return left, right


def _draw_change(ax: Any, y: int, lines: pd.DataFrame) -> None:
    """Draw one feature: the range as a rail, the way as a line, the values beside the marks."""
    at = dict(zip(lines["point"], lines["position"], strict=True))
    ends = {0: (lines["low"].iloc[0], "left"), 1: (lines["high"].iloc[0], "right")}
    ax.plot([0, 1], [y, y], color=GREY, alpha=0.5, lw=1, ls="-" if ends[0][0] else ":", zorder=1)
    for x, (end, side) in ends.items():
        if all(abs(x - position) > 0.02 for position in at.values()):  # else the label of the mark says it
            _write(ax, (x, y), end, (0, -7), side, "top", fontsize=_SMALL, alpha=0.7)
    for start, stop, color in (("original", "base", GREY), ("base", "robust", GREEN)):
        ax.plot([at[start], at[stop]], [y, y], color=color, lw=2.5, zorder=2, solid_capstyle="butt")
    for point, zorder in zip(_POINTS, (5, 3, 4), strict=True):  # the ring of the original stays in sight
        ax.plot(at[point], y, ls="", zorder=zorder, **MARKS[point])
    for position, text, bold in _labels(lines):
        # The outermost labels stand outside of all marks and the middle one above: none meets another.
        if position == min(at.values()):
            offset, side, height = (-9, 0), "right", "center"
        elif position == max(at.values()):
            offset, side, height = (9, 0), "left", "center"
        else:
            offset, side, height = (0, 6), "center", "bottom"
        _write(ax, (position, y), text, offset, side, height, fontsize=_NORMAL, weight="bold" if bold else "normal")


def _write(ax: Any, at: Any, text: str, offset: tuple[int, int], ha: str, va: str, **look: Any) -> None:
    ground = {"fc": ax.get_facecolor(), "ec": "none", "pad": 0.5}  # no rail strikes through a label
    ax.annotate(_short(text), at, offset, textcoords="offset points", ha=ha, va=va, bbox=ground, zorder=1.5, **look)


def _labels(lines: pd.DataFrame) -> list[tuple[float, str, bool]]:
    """Give each value once, with whether it is the robust one."""
    found: dict[float, tuple[str, bool]] = {}
    for point, position, text in zip(lines["point"], lines["position"], lines["text"], strict=True):
        found[position] = (text, point == "robust")
    return [(position, text, bold) for position, (text, bold) in found.items()]


def _change_title(item: "RobustCounterfactual") -> str:
    lines = [f"{_short(row_title(item.name))}: {item.status}"]
    if item.certificate is not None and not item.reason:
        lines.append(_filled(str(item.certificate)))
    if (n := len(changed(item))) > _MOST_FEATURES:
        lines.append(f"the {_MOST_FEATURES} largest of {n} changes")
    return "\n".join(lines)


def _mark_legend(ax: Any) -> None:
    handles = [ax.plot([], [], ls="", label=point, **MARKS[point])[0] for point in _POINTS]
    handles += ax.plot([], [], color=GREY, alpha=0.5, lw=1, label="range in training")
    ax.legend(handles=handles, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 0), frameon=False, fontsize=_NORMAL)


def votes_frame(items: Sequence["RobustCounterfactual"]) -> pd.DataFrame:
    """Say who voted how.

    Returns
    -------
    DataFrame
        One line per row and member that voted: "line" (the row's place in the batch), "row" (its name), "member",
        "agrees". Rows without a vote have no line.
    """
    lines = [
        [line, item.name, member, agrees] for line, item in enumerate(items) for member, agrees in enumerate(item.votes)
    ]
    frame = pd.DataFrame(lines, columns=["line", "row", "member", "agrees"])
    return frame.astype({"line": int, "member": int, "agrees": bool})


def vote_in_words(item: "RobustCounterfactual") -> str:
    """Say how a vote ended: who agreed, the quorum, and what follows."""
    vote = item.certificate
    if vote is None:
        return f"no vote: {item.status}"
    words = f"{vote.n_agree} of {vote.n_models} agree, quorum {_quorum(vote)}: valid for >= {percent(vote.lower_bound)}"
    return words if item.status == "certified" else f"{words}, {item.status}"


def _quorum(vote: Certificate) -> str:
    try:
        return str(vote.guarantee.quorum(vote.n_models))
    except UnreachableGuarantee:
        return "out of reach"


def draw_votes(items: Sequence["RobustCounterfactual"], ax: Any = None) -> Any:
    """Draw one line per row and one cell per member that voted; gives the matplotlib axes."""
    shown = items[:_MOST_ROWS]
    frame = votes_frame(shown)
    members = int(frame["member"].max()) + 1 if len(frame) else 1
    names, words = [_short(item.name) for item in shown], [vote_in_words(item) for item in shown]
    strip = min(max(0.1 * members, 3.0), 7.0)
    ax = new_axes(ax, strip + _inches(names) + _inches(words), 0.9 + 0.26 * max(len(shown), 1))
    bare(ax)
    _draw_cells(ax, frame)
    ax.set_xlim(0, members)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_yticks(range(len(shown)), names, fontsize=_NORMAL)
    for line, text in enumerate(words):
        ax.annotate(
            text,
            (1, line),
            (6, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=_NORMAL,
            annotation_clip=False,
        )
    ax.set_title(_votes_title(items), loc="left", fontsize=_NORMAL + 1)
    if len(frame):
        _vote_legend(ax)
    return ax


def _draw_cells(ax: Any, frame: pd.DataFrame) -> None:
    lines, members, agrees = (frame[name].to_numpy() for name in ("line", "member", "agrees"))
    for line in np.unique(lines):
        for label, (color, alpha, top, height) in _VOTES.items():
            own = members[(lines == line) & (agrees == (label == "agrees"))]
            spans = [(member + 0.08, 0.84) for member in own]
            ax.broken_barh(spans, (line + top, height), color=color, alpha=alpha, lw=0)


def _votes_title(items: Sequence["RobustCounterfactual"]) -> str:
    kinds = {item.certificate.members for item in items if item.certificate is not None}
    who = "members that also steered the search" if kinds == {"search"} else "certifying members"
    more = len(items) - _MOST_ROWS
    return f"Votes of the {who}" + (f" (the first {_MOST_ROWS} rows; {more} more are not shown)" if more > 0 else "")


def _vote_legend(ax: Any) -> None:
    handles = [
        ax.plot([], [], "s", color=color, alpha=alpha, mew=0, label=label)[0]
        for label, (color, alpha, *_) in _VOTES.items()
    ]
    ax.legend(handles=handles, ncols=2, loc="upper left", bbox_to_anchor=(0, 0), frameon=False, fontsize=_NORMAL)


def _inches(texts: Sequence[str]) -> float:
    """Give the room that the longest text needs."""
    return 0.2 + 0.075 * max(map(len, texts), default=0)


def _filled(text: str) -> str:
    return in_picture(textwrap.fill(text, 80))


def _short(text: object) -> str:
    whole = str(text)
    return in_picture(whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 1]}…")
