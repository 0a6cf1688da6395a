"""The closest point found so far for every level of depth."""

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray


class Archive:
    """For each row and level, the cheapest valid point that is at least that deep.

    Parameters
    ----------
    levels : array of float, shape (rows, levels), descending
        The levels of each row. A last level of -inf takes every valid point.
    n_features : int

    Examples
    --------
    >>> archive = Archive(np.array([[2.0, 1.0, 0.0]]), n_features=1)
    >>> points, depth, cost = np.array([[5.0], [3.0]]), np.array([2.5, 0.5]), np.array([5.0, 3.0])
    >>> archive.add(np.array([0, 0]), points, depth, np.array([True, True]), cost)
    >>> archive.best()[1]
    array([[5., 5., 3.]])
    """

    def __init__(self, levels: FloatArray, n_features: int) -> None:
        self.levels = levels
        self._points = np.zeros((*levels.shape, n_features))
        self._cost = np.full(levels.shape, np.inf)

    def add(self, rows: IntArray, points: FloatArray, depth: FloatArray, valid: BoolArray, cost: FloatArray) -> None:
        """Record evaluated points."""
        n_levels = self.levels.shape[1]
        level = (depth[:, None] < self.levels[rows]).sum(axis=1)
        keep = np.flatnonzero(valid & (level < n_levels))
        keep = keep[cost[keep] < self._cost[rows[keep], level[keep]]]
        if not keep.size:
            return
        place = rows[keep] * n_levels + level[keep]
        order = np.lexsort((cost[keep], place))
        ranked = place[order]
        first = np.ones(len(ranked), dtype=bool)
        first[1:] = ranked[1:] != ranked[:-1]
        winners = keep[order[first]]
        self._points[rows[winners], level[winners]] = points[winners]
        self._cost[rows[winners], level[winners]] = cost[winners]

    @property
    def cost(self) -> FloatArray:
        """What the best point of each level costs, shape (rows, levels); infinite where there is none."""
        return np.asarray(np.minimum.accumulate(self._cost, axis=1))

    def best(self) -> tuple[FloatArray, FloatArray]:
        """Give the points (rows, levels, features) and their costs (rows, levels); infinite where there is none.

        What is deep enough for one level is deep enough for all shallower ones.
        """
        cost = self.cost
        places = np.where(self._cost <= cost, np.arange(cost.shape[1]), 0)
        source = np.maximum.accumulate(places, axis=1)
        return self._points[np.arange(len(cost))[:, None], source], cost

    def distinct(self, below: FloatArray | float = np.inf) -> tuple[FloatArray, IntArray, IntArray]:
        """Give every point that is the best for some level once: points, their rows, their deepest level.

        With the costs of an earlier moment, `below`, only what is cheaper than the best was then.
        """
        points, cost = self.best()
        new = cost < below
        new[:, 1:] &= cost[:, 1:] < cost[:, :-1]
        rows, levels = np.nonzero(new)
        return points[rows, levels], rows, levels
