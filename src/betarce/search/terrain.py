"""The state that all stages of a frontier search share."""

from functools import cached_property

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.search.cost import Cost
from betarce.search.direction import steepest
from betarce.search.evaluations import Evaluations
from betarce.search.levels import DEEPEST
from betarce.search.protocol import Depth, Task

_BITS = 36  # of slopes that count


class Terrain:
    """A batch of rows with their depth, their cost and the points evaluated so far.

    Parameters
    ----------
    task : Task
        Cost is measured from its starts.
    depth : Depth
    cost : Cost
    budget : int
        Maximum number of evaluations per row.
    levels : array of shape (levels,), descending, optional
        The depths of the rungs; by default from `DEEPEST` down to the starts' own.

    Attributes
    ----------
    top : float
        The depth that is deep enough.
    asked : Evaluations
        The points evaluated so far, with what is left of the budget.
    """

    def __init__(self, task: Task, depth: Depth, *, cost: Cost, budget: int, levels: FloatArray | None = None) -> None:
        self.starts, self.features, self.box = task.starts, task.features, task.box
        self.depth, self.cost = depth, cost
        self._seeds = task.seeds
        self.top = DEEPEST if levels is None else float(levels[0])
        self.asked = Evaluations(task, depth, cost=cost, budget=budget, levels=levels)

    @cached_property
    def generators(self) -> list[np.random.Generator]:
        """Give what each row draws from; few searches draw at all."""
        return [np.random.default_rng(seed) for seed in self._seeds]

    def evaluate(
        self, rows: IntArray, points: FloatArray, ends: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Project the ends of moves, shape (rows, k, d), and give them with their depth and cost, both (rows, k).

        A move that the rules or the grid take back altogether is not evaluated: its depth is -inf.
        """
        n, k, d = ends.shape
        owners = np.repeat(rows, k)
        candidates = self.features.project(ends.reshape(n * k, d), self.box.take(owners))
        moved = np.flatnonzero(self.features.differs(candidates, points[owners]).any(axis=1))
        if moved.size == n * k:
            depth, cost, _ = self.asked.ask(owners, candidates)
        else:
            depth, cost = np.full(n * k, -np.inf), np.zeros(n * k)
            if moved.size:
                depth[moved], cost[moved], _ = self.asked.ask(owners[moved], candidates[moved])
        return candidates.reshape(n, k, d), depth.reshape(n, k), cost.reshape(n, k)

    def slopes(self, rows: IntArray, points: FloatArray) -> FloatArray | None:
        """Give the gradient of the depth, the same in every batch; None where there is none."""
        slopes = self.depth.slopes(points, rows)
        return None if slopes is None else _without_noise(slopes * self.features.scale) / self.features.scale

    def room(self, rows: IntArray, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Say how far each feature can go in the direction in which depth rises."""
        return np.where(slopes > 0, self.box.upper[rows] - points, points - self.box.lower[rows])

    def direction(self, rows: IntArray, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Give the cheapest direction of ascent, among the features that have room for it."""
        open_ = np.where(self.room(rows, points, slopes) > 0, slopes, 0.0)
        return steepest(open_ / self.cost.weight, self.cost.share)


def _without_noise(slopes: FloatArray) -> FloatArray:
    """Round each row to a grid that is fine beside its largest value: last bits differ from batch to batch.

    The grid is a power of two, taken a little above the largest value, so that numbers which people like (1, 4, 0.5)
    lie neither where the grid changes nor half-way between two of its points.
    """
    largest = np.abs(slopes).max(axis=1, keepdims=True)
    grid = np.maximum(np.ldexp(1.0, np.frexp(1.001 * largest)[1] - _BITS), np.finfo(float).tiny)
    return np.asarray(np.rint(slopes / grid) * grid)
