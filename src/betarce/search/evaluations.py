"""Evaluate points within a budget."""

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.search.archive import Archive
from betarce.search.cost import Cost
from betarce.search.ladders import Ladders
from betarce.search.levels import levels_above
from betarce.search.protocol import Depth, Task

_DIGITS = 9  # depths differ in their last bits from batch to batch: what is as deep must be so in every batch
_LEVEL_DIGITS = 4  # of a base's depth, which its levels are counted from


class Evaluations:
    """The points evaluated so far for a batch of rows, with what is left of the budget.

    Parameters
    ----------
    task : Task
        Cost is measured from its starts.
    depth : Depth
    cost : Cost
    budget : int
        Maximum number of evaluations per row.
    levels : array of shape (levels,), descending, optional
        The depths of the rungs; by default `levels_above` of the starts' own.

    Attributes
    ----------
    archive : Archive
        The best points by level.
    start : tuple of arrays
        The starts as far as they are allowed, their depth and their cost.
    count : array of int, shape (n,)
    spent : array of bool, shape (n,)
        Whether a row needed more evaluations than its budget allows.
    """

    def __init__(self, task: Task, depth: Depth, *, cost: Cost, budget: int, levels: FloatArray | None = None) -> None:
        self._starts, self._depth, self._features, self._box = task.starts, depth, task.features, task.box
        self._cost, self._budget = cost, budget
        self.spent = np.zeros(len(task), dtype=bool)
        rows: IntArray = np.arange(len(task))
        points = task.features.project(task.starts, task.box)
        reached, valid = self._deep(rows, points)
        self.start = points, reached, self.cost(points, task.starts)
        above = levels_above(np.round(reached, _LEVEL_DIGITS)) if levels is None else np.tile(levels, (len(task), 1))
        self.archive = Archive(above, points.shape[1])
        self.archive.add(rows, points, reached, valid, self.start[2])
        self.count = np.ones(len(task), dtype=np.intp)

    def ask(self, rows: IntArray, points: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Give depth, cost and validity of projected points, whatever is left of the budget."""
        depth, valid = self._deep(rows, points)
        cost = self.cost(points, self._starts[rows])
        self.archive.add(rows, points, depth, valid, cost)
        self.count += np.bincount(rows, minlength=len(self._starts))
        return depth, cost, valid

    def try_(self, rows: IntArray, points: FloatArray) -> FloatArray:
        """Project and evaluate points as far as the budget of each row allows; give the depth, -inf beyond it."""
        left = self._budget - self.count
        tried = np.argsort(rows, kind="stable")
        counts = np.bincount(rows, minlength=len(left))
        if (counts > left).any():
            rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            affordable = rank < left[rows[tried]]
            self.spent[rows[tried[~affordable]]] = True
            tried = tried[affordable]
        depth = np.full(len(rows), -np.inf)
        if tried.size:
            candidates = self._features.project(points[tried], self._box.take(rows[tried]))
            depth[tried], _, _ = self.ask(rows[tried], candidates)
        return depth

    def ladders(self) -> Ladders:
        """Give the best points by level."""
        points, cost = self.archive.best()
        exists = np.isfinite(cost)
        exists[:, 1:] &= cost[:, 1:] < cost[:, :-1]
        return Ladders(points, exists, self.archive.levels, self.count, self.spent)

    def affordable(self, rows: IntArray, price: IntArray | int) -> BoolArray:
        """Say which rows have budget for so many more evaluations."""
        can = self.count[rows] + price <= self._budget
        self.spent[rows[~can]] = True
        return np.asarray(can)

    def cost(self, points: FloatArray, starts: FloatArray) -> FloatArray:
        """Give the cost of points relative to their starts."""
        return self._cost(points, starts)

    def _deep(self, rows: IntArray, points: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Evaluate points; one that breaks a link between columns is not valid, however deep."""
        depth, valid = self._depth(points, rows)
        depth = np.round(depth, _DIGITS)
        if self._features.linked:
            valid = valid & ~self._features.violations(points, self._box.take(rows)).any(axis=1)
        return depth, valid
