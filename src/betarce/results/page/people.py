"""One entry of the page for each row: what is, what to change at every delta, and who agrees."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.features import Column, FeatureSpace
from betarce.posterior import Certificate
from betarce.posterior.certificate import to_plain
from betarce.results.changes import row_title, written
from betarce.results.counterfactual import RobustCounterfactual
from betarce.results.ladder import Ladder

_DIGITS = 4  # of efforts and places
_NOTHING: Mapping[str, Any] = {"now": None, "places": None, "options": [], "answer": None, "base": None}


class People:
    """Turns answers into entries of the page.

    Parameters
    ----------
    features : FeatureSpace
        How points become values that people read.

    Attributes
    ----------
    votes : list of Certificate
        One for each guarantee that rows were voted on; entries name it by its place.
    """

    def __init__(self, features: FeatureSpace) -> None:
        self.votes: list[Certificate] = []
        self._features = features
        self._vote_places: dict[tuple[Any, ...], int] = {}
        self._written: dict[tuple[int, float], str] = {}

    def content(self, item: RobustCounterfactual) -> dict[str, Any]:
        """Give the entry of one row.

        Returns
        -------
        dict
            "now" has the value of every column; "options" has what to change by falling certainty, each with "least"
            (the largest quorum that it passes), "agree", "effort" and "changes"; "answer" is the place of the option
            that was handed out; "base" is the plain counterfactual. A change is a list: the column, the new value, its
            effort, its kind, and its place in the range of the column.
        """
        targets = item.target if isinstance(item.target, list) else [item.target]
        entry: dict[str, Any] = {
            "name": row_title(item.name),
            "target": [str(target) for target in targets if target is not None],
            "status": item.status,
            "reason": item.reason,
            "note": item.note,
            "vote": None if item.certificate is None else self._vote(item.certificate),
        }
        original = item.points["original"]
        return {**entry, **(_NOTHING if original is None else self._changes(item, original))}

    def _vote(self, vote: Certificate) -> dict[str, Any]:
        key = (vote.guarantee, vote.n_models, vote.members, vote.space, vote.varied)
        if key not in self._vote_places:
            self._vote_places[key] = len(self.votes)
            self.votes.append(vote)
        return {
            "on": self._vote_places[key],
            "agree": vote.n_agree,
            "bound": vote.lower_bound,
            "point": vote.point,
            "digest": to_plain(vote)["digest"],
        }

    def _changes(self, item: RobustCounterfactual, original: FloatArray) -> dict[str, Any]:
        base, vote, ladder = item.points["base"], item.certificate, _ladder(item)
        points = np.vstack([original[None], *([] if base is None else [base[None]]), ladder.points])
        moved = self._features.differs(points, original)
        texts = self._texts(points, np.asarray(moved.any(axis=0)))
        effort = self._features.gaps(points, original) * self._features.weight
        changes = [
            self._listed(original, points[k], moved[k], effort[k], [text[k] for text in texts])
            for k in range(len(points))
        ]
        first = len(points) - len(ladder)
        return {
            "now": [text[0] for text in texts],
            "places": [_place(column, value) for column, value in zip(self._features.columns, original, strict=True)],
            "options": [
                {
                    "least": int(ladder.n_least[k]),
                    "agree": int(ladder.n_agree[k]),
                    "effort": _rounded(effort[first + k].sum()),
                    "changes": changes[first + k],
                }
                for k in range(len(ladder))
            ],
            "answer": None if vote is None else ladder.place(vote.guarantee.quorum(vote.n_models)),
            "base": None
            if base is None
            else {"agree": item.base_agree, "effort": _rounded(effort[1].sum()), "changes": changes[1]},
        }

    def _texts(self, points: FloatArray, moves: BoolArray) -> list[Sequence[str]]:
        """Write each column's values, with the digits that tell those of this row apart."""
        return [
            written(column, points[:, j]) if moves[j] else [self._one(j, column, float(points[0, j]))] * len(points)
            for j, column in enumerate(self._features.columns)
        ]

    def _one(self, j: int, column: Column, value: float) -> str:
        if math.isnan(value):
            return written(column, [value])[0]
        if (j, value) not in self._written:
            self._written[j, value] = written(column, [value])[0]
        return self._written[j, value]

    def _listed(
        self, original: FloatArray, point: FloatArray, moved: BoolArray, effort: FloatArray, texts: Sequence[str]
    ) -> list[list[Any]]:
        """List what changes, the largest effort first."""
        columns = self._features.columns
        order = sorted(np.flatnonzero(moved).tolist(), key=lambda j: -effort[j])
        return [
            [j, texts[j], _rounded(effort[j]), _kind(columns[j], original[j], point[j]), _place(columns[j], point[j])]
            for j in order
        ]


def _ladder(item: RobustCounterfactual) -> Ladder:
    """Give the ladder of a row; an answer that was made by hand is a rung of its own."""
    robust, vote = item.points["robust"], item.certificate
    if len(item.ladder) or robust is None or vote is None:
        return item.ladder if len(item.ladder) else Ladder.none(len(item.features))
    return Ladder(robust[None], np.array([vote.n_agree]), np.array([vote.n_agree]))


def _kind(column: Column, before: float, after: float) -> str:
    """Say in a word how a value moves."""
    if math.isnan(before):
        return "fill"
    if math.isnan(after):
        return "withdraw"
    if column.is_nominal:
        return "switch"
    return "up" if after > before else "down"


def _place(column: Column, value: float) -> float | None:
    """Say where a number lies in the range of its column, from 0 to 1; names without an order lie nowhere."""
    if column.is_nominal or math.isnan(value) or column.upper <= column.lower:
        return None
    return _rounded(min(max((value - column.lower) / (column.upper - column.lower), 0.0), 1.0))


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS)
