"""Approach anchors: rows of the data that lie deep in the target class."""

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.search.ladders import Ladders
from betarce.search.levels import DEEPEST
from betarce.search.terrain import Terrain

_APPROACH = np.array([0.0, 0.15, 0.3, 0.45, 0.6, 0.75])  # shares of the way from an anchor to the base
_MOST_FEATURES = 64


def walk_to(ground: Terrain, anchors: FloatArray, rows: IntArray) -> None:
    """Take over the features of the anchors one by one, best gain for its cost first, up to the anchor itself."""
    asked, features = ground.asked, ground.features
    for anchor in np.swapaxes(anchors[rows], 0, 1):
        points, depth, cost = (part[rows] for part in asked.start)
        open_ = ground.box.free[rows] & features.differs(points, anchor)
        for _ in range(min(points.shape[1], _MOST_FEATURES)):
            asked.affordable(rows, open_.sum(axis=1))
            open_[asked.spent[rows]] = False
            which, columns = np.nonzero(open_)
            if not which.size:
                break
            candidates = points[which]
            candidates[np.arange(len(which)), columns] = anchor[which, columns]
            candidates = features.project(candidates, ground.box.take(rows[which]))
            new_depth, new_cost, _ = asked.ask(rows[which], candidates)
            price = np.maximum(new_cost - cost[which], 1e-6)
            gain = new_depth - depth[which]
            # Where nothing gains, take what loses least: the anchor at the end is deep for sure.
            appeal = np.full(open_.shape, -np.inf)
            appeal[which, columns] = np.where(gain > 0, gain / price, gain)
            chosen = appeal.argmax(axis=1)
            place = np.full(open_.shape, -1)
            place[which, columns] = np.arange(len(which))
            going = np.flatnonzero(open_.any(axis=1))
            taken = place[going, chosen[going]]
            points[going], depth[going], cost[going] = candidates[taken], new_depth[taken], new_cost[taken]
            open_[going, chosen[going]] = False


def extend(ground: Terrain, ladders: Ladders, anchors: FloatArray) -> Ladders:
    """Add points on the way to an anchor to the top of each ladder, where they are as deep as its first rung.

    A point that was climbed to may lie where there are no data, and retrained models agree there less than they seem
    to; a row of the data is safer, if farther.
    """
    asked, features = ground.asked, ground.features
    n, k = len(anchors), len(_APPROACH)
    ways = features.blend(anchors[:, None], ground.starts[:, None], _APPROACH[:, None])
    rows = np.repeat(np.arange(n), k)
    points = features.project(ways.reshape(n * k, -1), ground.box.take(rows))
    can = asked.affordable(np.arange(n), k)[rows]
    depth, cost, valid = np.full(n * k, -np.inf), np.zeros(n * k), np.zeros(n * k, dtype=bool)
    depth[can], cost[can], valid[can] = asked.ask(rows[can], points[can])
    first = ladders.exists.argmax(axis=1)
    top = np.where(ladders.exists.any(axis=1), ladders.levels[np.arange(n), first], 0.0)
    top_cost = asked.cost(ladders.points[np.arange(n), first], ground.starts)
    farther = cost > np.where(ladders.exists.any(axis=1), top_cost, 0.0)[rows]
    exists = (valid & (depth >= top[rows]) & farther).reshape(n, k)
    return Ladders(
        np.concatenate([points.reshape(n, k, -1), ladders.points], axis=1),
        np.concatenate([exists, ladders.exists], axis=1),
        np.concatenate([np.full((n, k), DEEPEST), ladders.levels], axis=1),
        ladders.n_evaluations,
        ladders.spent,
    )
