"""Place the rungs of a ladder as close to the base as their levels allow."""

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.search.climbing import Path
from betarce.search.terrain import Terrain

_TRIES = 3  # points on the way between two levels, for each rung
_MARGIN = 0.03  # of the depth above the last point: rungs aim at so much more than their level
_HALVINGS = 4  # of how far a feature goes back
_TOGETHER = (1.0, 0.5)  # shares of what each feature may go back alone, for all of them at once
_BLENDS = np.array([1.0, 0.5, 0.25])  # shares of the way from a rung to where its slopes point
_DIGITS = 4  # of what is computed from depths and slopes: these differ in their last bits from batch to batch

_STRIDE = 2  # every second rung is refined in each round


def place(ground: Terrain, path: Path) -> None:
    """Place a point where the path passes each level, by linear interpolation between ever closer ends."""
    levels = ground.asked.archive.levels
    reached = path.depth[:, :, None] >= levels[:, None]
    after = reached.argmax(axis=1)
    rows, k = np.nonzero(reached.any(axis=1) & (after > 0))
    start, end = path.points[rows, after[rows, k] - 1], path.points[rows, after[rows, k]]
    below, above = path.depth[rows, after[rows, k] - 1], path.depth[rows, after[rows, k]]
    level = levels[rows, k]
    aim = level + _MARGIN * (level - below)
    left, right = np.zeros(len(rows)), np.ones(len(rows))
    for _ in range(_TRIES):
        part = np.clip((aim - below) / np.maximum(above - below, 1e-12), 0.02, 0.98)
        share = np.round(left + part * (right - left), _DIGITS)
        depth = ground.asked.try_(rows, ground.features.blend(end, start, 1 - share[:, None]))
        deep, shallow = depth >= level, (depth < level) & np.isfinite(depth)  # neither: beyond the budget
        left, below = np.where(shallow, share, left), np.where(shallow, depth, below)
        right, above = np.where(deep, share, right), np.where(deep, depth, above)


def refine(ground: Terrain, turn: int) -> None:
    """Move some of the rungs closer to the base."""
    archive = ground.asked.archive
    points, rows, levels = archive.distinct()
    mine = levels % _STRIDE == turn % _STRIDE
    points, rows, levels = points[mine], rows[mine], levels[mine]
    if not rows.size:
        return
    depth = archive.levels[rows, levels]
    slopes = ground.slopes(rows, points)
    if slopes is None:
        _put_back(ground, points, rows, depth, np.ones(len(ground.features), dtype=bool))
        return
    _turn(ground, points, rows, slopes * ground.features.scale)
    if ground.features.any_nominal:
        _put_back(ground, points, rows, depth, ground.features.is_nominal)


def _turn(ground: Terrain, points: FloatArray, rows: IntArray, slopes: FloatArray) -> None:
    """Turn rungs towards the cheapest points that are as deep, if the slopes at the rungs held everywhere."""
    features, bases = ground.features, ground.starts[rows]
    numbers = ~(features.is_nominal | np.isnan(points) | np.isnan(bases))
    away = np.where(numbers, points - bases, 0.0) / features.scale
    direction = ground.direction(rows, bases, np.where(numbers, slopes, 0.0))
    rise, slope = (slopes * away).sum(axis=1), (slopes * direction).sum(axis=1)
    useful = np.flatnonzero((rise > 0) & (slope > 0))
    away, rows, starts = away[useful], rows[useful], np.where(numbers, bases, points)[useful]
    ideal = direction[useful] * np.round(rise[useful] / slope[useful], _DIGITS)[:, None]
    ways = away[:, None] + _BLENDS[:, None] * (ideal - away)[:, None]
    points = starts[:, None] + ways * features.scale
    ground.asked.try_(np.repeat(rows, len(_BLENDS)), points.reshape(-1, away.shape[1]))


def _put_back(ground: Terrain, points: FloatArray, rows: IntArray, depth: FloatArray, some: BoolArray) -> None:
    """Move features back towards the base, each as far as the rung stays that deep; then all of them together."""
    features, bases = ground.features, ground.starts[rows]
    away = np.abs(points - bases)
    close = away <= 1e-9 * features.scale
    rungs, columns = np.nonzero(features.differs(points, bases) & ~close & some)

    def deep_enough(which: IntArray, share: FloatArray) -> BoolArray:
        """Ask about single features that go back by a share of their way."""
        own, column, place = rungs[which], columns[which], np.arange(len(which))
        candidates = points[own]
        candidates[place, column] = features.blend(candidates, bases[own], share[:, None])[place, column]
        return np.asarray(ground.asked.try_(rows[own], candidates) >= depth[own])

    if not rungs.size:
        return
    wholly = deep_enough(np.arange(len(rungs)), np.ones(len(rungs)))
    back, too_far = wholly.astype(float), np.ones(len(rungs))
    # A name goes back wholly or not at all.
    partly = np.flatnonzero(~wholly & ~(features.is_nominal[columns] | np.isnan(away[rungs, columns])))
    for _ in range(_HALVINGS):
        coarse = (too_far - back)[partly] * away[rungs, columns][partly] <= features.unit[columns[partly]]
        partly = partly[~coarse]
        if not partly.size:
            break
        middle = (back[partly] + too_far[partly]) / 2
        can = deep_enough(partly, middle)
        back[partly], too_far[partly] = np.where(can, middle, back[partly]), np.where(can, too_far[partly], middle)
    _put_back_together(ground, points, rows, (rungs, columns), back)


def _put_back_together(
    ground: Terrain, points: FloatArray, rows: IntArray, places: tuple[IntArray, IntArray], back: FloatArray
) -> None:
    """Move all features of a rung back that may go back alone."""
    share = np.zeros(points.shape)
    share[places] = back
    share[:, ground.features.is_nominal] = 0
    own = np.flatnonzero((share > 0).sum(axis=1) > 1)
    bases = ground.starts[rows[own]]
    candidates = [ground.features.blend(points[own], bases, part * share[own]) for part in _TOGETHER]
    ground.asked.try_(np.tile(rows[own], len(_TOGETHER)), np.concatenate(candidates))


def prune(ground: Terrain) -> None:
    """Put single features back to the base until no rung can spare another change at its level.

    The archive keeps what is cheaper at the same level, and a point with one change less is cheaper. So each round asks
    about the rungs that the last round changed, and no more.
    """
    archive = ground.asked.archive
    known = np.full(archive.levels.shape, np.inf)
    while True:
        points, rows, _ = archive.distinct(below=known)
        known = archive.cost
        bases = ground.starts[rows]
        which, columns = np.nonzero(ground.features.differs(points, bases))
        if not which.size:
            return
        candidates = points[which]
        candidates[np.arange(len(which)), columns] = bases[which, columns]
        ground.asked.try_(rows[which], candidates)
