"""Adapters for dice-ml: a table in its coding, and a model that answers about the target of one row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from betarce.arrays import AnyArray, BoolArray, FloatArray
from betarce.explainers.protocol import Problem
from betarce.features import Box, Column

_OUTCOME = "outcome"
_DECIMALS = 4  # of a column's range: the finest that DiCE proposes
_SAME = 1e-6  # of a column's range: what rounding to float32, which DiCE does, may add


class Spent(Exception):
    """The model was asked often enough."""


@dataclass(frozen=True, eq=False)
class View:
    """A table in the coding of dice-ml: numbers in units of their training range, names as the text of their codes.

    Attributes
    ----------
    columns : tuple of Column
    points : array of shape (n, d)
        The training rows.
    numbers : array of bool, shape (d,)
        Which columns are numbers to DiCE; names and yes-or-no are not.
    seen : list of array
        The codes that each other column has in the training rows.
    """

    columns: tuple[Column, ...]
    points: FloatArray
    numbers: BoolArray
    seen: list[FloatArray]
    _data: dict[str, Any]

    @classmethod
    def of(cls, problem: Problem) -> "View":
        """Look at the training rows of a problem, once."""

        def look() -> View:
            columns, points = problem.features.columns, problem.X_train
            numbers = np.array([not column.is_nominal and column.kind != "binary" for column in columns])
            seen = [np.unique(values[~np.isnan(values)]) for values in points.T]
            return cls(columns, points, numbers, seen, {})

        return problem.cached("dice", look)

    @property
    def names(self) -> list[str]:
        """What the columns are called, numbers first: dice-ml looks decimals up by the place among the numbers."""
        return [str(j) for j in np.argsort(~self.numbers, kind="stable")]

    def data(self, dice_ml: Any, frame: pd.DataFrame | None) -> Any:
        """Give dice-ml's data object, of all training rows if none are given."""
        if frame is None and "all" in self._data:
            return self._data["all"]
        rows = self.frame(self.values(self.points)) if frame is None else frame
        continuous = [name for name in self.names if self.numbers[int(name)]]
        data = dice_ml.Data(
            dataframe=rows.assign(**{_OUTCOME: 0}),  # it must be there, and nobody looks at it
            continuous_features=continuous,
            continuous_features_precision=dict.fromkeys(continuous, _DECIMALS),
            outcome_name=_OUTCOME,
        )
        if frame is None:
            self._data["all"] = data
        return data

    def values(self, points: FloatArray) -> FloatArray:
        """Turn points into what DiCE sees; what it cannot know (missing values, new names) becomes the most common."""
        values = points.copy()
        for j, column in enumerate(self.columns):
            unknown = np.isnan(values[:, j])
            if not self.numbers[j]:
                unknown |= ~np.isin(values[:, j], self.seen[j])
            values[unknown, j] = column.common[0]
            if self.numbers[j]:
                values[:, j] = (values[:, j] - column.lower) / column.scale
        return values

    def frame(self, values: FloatArray) -> pd.DataFrame:
        """Write values as a frame for dice-ml."""
        return pd.DataFrame({name: self._column(values[:, int(name)], int(name)) for name in self.names})

    def _column(self, values: FloatArray, j: int) -> Any:
        return values if self.numbers[j] else np.array([_text(value) for value in values], dtype=object)


class Asked:
    """One row's question to the model, as dice-ml puts it: is this the target, or not?"""

    TARGET = 1

    def __init__(self, view: View, problem: Problem, box: Box, target: AnyArray, max_calls: int) -> None:
        self.view = view
        self.problem = problem
        self.box = box
        self.target = target
        self.origin = box.origin[0]
        self.n_evaluations = 0
        self._calls_left = max_calls
        self._start = view.values(box.origin)
        self.query = view.frame(self._start)

    def predict_proba(self, frame: pd.DataFrame) -> FloatArray:
        """Give the probabilities of "not the target" and "the target", shape (n, 2)."""
        if not self._calls_left:
            raise Spent
        self._calls_left -= 1
        self.n_evaluations += len(frame)
        p = self.probability(self.points(frame))
        return np.stack([1 - p, p], axis=1)

    def predict(self, frame: pd.DataFrame) -> AnyArray:
        """Give 1 for the target, else 0."""
        return np.asarray(self.predict_proba(frame).argmax(axis=1))

    def probability(self, points: FloatArray) -> FloatArray:
        """Give the target's probability; at least one half exactly where the model's label is accepted."""
        margins = self.problem.model.margins(points, self._targets(len(points)))[:, 0]
        p = expit(margins)
        return np.asarray(np.where(margins > 0, np.maximum(p, 0.5), np.minimum(p, np.nextafter(0.5, 0))))

    def is_target(self, points: FloatArray) -> BoolArray:
        """Say which points the model puts in the target class."""
        return self.problem.is_target(points, self._targets(len(points)))

    def _targets(self, n: int) -> AnyArray:
        return np.repeat(np.asarray(self.target)[None], n, axis=0)

    def points(self, frame: pd.DataFrame) -> FloatArray:
        """Turn what DiCE proposes into points that could be handed out."""
        names = self.view.names
        values = np.empty((len(frame), len(names)))
        values[:, [int(name) for name in names]] = frame[names].to_numpy(dtype=object).astype(float)
        same = np.abs(values - self._start) <= _SAME
        for j in np.flatnonzero(self.view.numbers):
            values[:, j] = self.view.columns[j].lower + values[:, j] * self.view.columns[j].scale
        return self._allowed(np.where(same, self.origin, values))

    def neighbours(self) -> pd.DataFrame:
        """Give the training rows as what this row could become, and the row itself."""
        moved = self._allowed(self.view.points)
        rows = np.concatenate([self.box.origin, np.where(self.box.free, moved, self.origin)])
        return self.view.frame(self.view.values(rows))

    def ranges(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Give the values that each column may take, of those that DiCE knows; without columns that must stay."""
        ranges: dict[str, Any] = {}
        for j in map(int, np.flatnonzero(self.box.free[0])):
            name, column = str(j), self.view.columns[j]
            low, high = self.box.lower[0, j], self.box.upper[0, j]
            if self.view.numbers[j]:
                low, high = (low if np.isfinite(low) else column.lower), (high if np.isfinite(high) else column.upper)
                # A little wider: DiCE compares in float32, and what it finds is moved to allowed values anyway.
                ranges[name] = [
                    (low - column.lower) / column.scale - _SAME,
                    (high - column.lower) / column.scale + _SAME,
                ]
                continue
            codes = [code for code in self.view.seen[j] if low <= code <= high and _text(code) in known[name]]
            if j in self.box.choices:
                choice = self.box.choices[j]
                codes = [code for code in codes if code in choice.values[choice.allowed[0]]]
            if any(code != self._start[0, j] for code in codes):
                ranges[name] = [_text(code) for code in codes]
        return ranges

    def _allowed(self, points: FloatArray) -> FloatArray:
        return self.problem.features.project(points, self.box.take(np.zeros(len(points), dtype=np.intp)))


def _text(code: float) -> str:
    return str(int(code))
