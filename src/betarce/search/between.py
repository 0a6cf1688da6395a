"""Put rungs between the rungs of a ladder, where slopes show the way."""

import numpy as np

from betarce.arrays import BoolArray, IntArray
from betarce.search.ladders import Ladders
from betarce.search.levels import CLOSE
from betarce.search.terrain import Terrain


def fill(ground: Terrain, ladders: Ladders) -> Ladders:
    """Put a point half-way between every two neighbours that change the same features, if it is as deep as its level.

    What lies between two points that are as close as their levels allow is nearly so itself, if depth has slopes. Its
    level is half-way between theirs: where depth is linear, no single change of it can be taken back either.
    """
    asked, features = ground.asked, ground.features
    rows, above, below = _neighbours(ground, ladders)
    can = asked.affordable(np.arange(len(ladders.exists)), np.bincount(rows, minlength=len(ladders.exists)))[rows]
    rows, above, below = rows[can], above[can], below[can]
    far, close = ladders.points[rows, above], ladders.points[rows, below]
    points = features.project(features.blend(far, close, 0.5), ground.box.take(rows))
    depth, cost, valid = asked.ask(rows, points)
    level = (ladders.levels[rows, above] + ladders.levels[rows, below]) / 2
    starts = ground.starts[rows]
    nearer = (cost < asked.cost(far, starts)) & (cost > asked.cost(close, starts))
    good = valid & (depth >= level) & nearer

    n, k, d = ladders.points.shape
    all_points, exists, levels = np.zeros((n, k, 2, d)), np.zeros((n, k, 2), dtype=bool), np.zeros((n, k, 2))
    all_points[:, :, 0], exists[:, :, 0], levels[:] = ladders.points, ladders.exists, ladders.levels[:, :, None]
    all_points[rows, above, 1], exists[rows, above, 1], levels[rows, above, 1] = points, good, level
    return Ladders(
        all_points.reshape(n, 2 * k, d),
        exists.reshape(n, 2 * k),
        levels.reshape(n, 2 * k),
        ladders.n_evaluations,
        ladders.spent,
    )


def _neighbours(ground: Terrain, ladders: Ladders) -> tuple[IntArray, IntArray, IntArray]:
    """Give pairs of rungs, one after the other, where votes are decided: their row, and their places."""
    rows, places = np.nonzero(ladders.exists)
    same = rows[1:] == rows[:-1]
    rows, above, below = rows[:-1][same], places[:-1][same], places[1:][same]
    decided = (ladders.levels[rows, above] <= CLOSE) & np.isfinite(ladders.levels[rows, below])
    rows, above, below = rows[decided], above[decided], below[decided]
    alike = (_changed(ground, ladders, rows, above) == _changed(ground, ladders, rows, below)).all(axis=1)
    return rows[alike], above[alike], below[alike]


def _changed(ground: Terrain, ladders: Ladders, rows: IntArray, places: IntArray) -> BoolArray:
    return ground.features.differs(ladders.points[rows, places], ground.starts[rows])
