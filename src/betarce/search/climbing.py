"""Climb from each start, always by the move that gains most depth for its cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.search.terrain import Terrain

_GOOD_ENOUGH = 0.9  # of the best gain for its cost: then the larger step is taken
_SPREADING = 0.5  # share of L2 from which moves along many features are tried even if slopes must be guessed
_STEEPEST, _STEEPEST_ON_GRID = 2, 4  # features tried where slopes are known
_COARSE = 0.01  # of a feature's range: from this step on, a slope does not say what a single step is worth
_MOST_FEATURES = 64  # features tried at once where they are not
_BEST = 5  # features, and settings, tried between two sweeps over all of them
_SWEEP_EVERY = 5  # moves


class Steps(NamedTuple):
    """Lengths of moves, in units of the features' ranges.

    Attributes
    ----------
    sweep, fine : sequence of float
        Without slopes: of every feature in a sweep, and of the few best ones between two sweeps.
    sloped : sequence of float
        Where slopes show the way, and all features move freely.
    """

    sweep: Sequence[float]
    fine: Sequence[float]
    sloped: Sequence[float]


@dataclass(frozen=True, eq=False)
class Path:
    """The path of each row: points (n, moves, d) and depth (n, moves); a row that stopped repeats its end."""

    points: FloatArray
    depth: FloatArray


class Climb:
    """One climb, of all rows at once.

    Parameters
    ----------
    terrain : Terrain
    steps : Steps
        Lengths of the moves that are tried.
    max_moves : int
    """

    def __init__(self, terrain: Terrain, steps: Steps, max_moves: int) -> None:
        self._ground, self._max_moves = terrain, max_moves
        self._sweep_steps, self._fine_steps, self._slope_steps = (np.array(lengths) for lengths in steps)
        features = terrain.features
        self._steepest = _STEEPEST
        if features.any_nominal or (features.unit >= _COARSE * features.scale).any():
            self._steepest, self._slope_steps = _STEEPEST_ON_GRID, self._sweep_steps
        n, d = terrain.starts.shape
        self._columns, self._values = terrain.features.settings
        # What sweeps over all features showed, where depth has no slopes: which way each rises, which are the best.
        self._ways = np.ones((n, d))
        self._best = np.tile(np.arange(min(_BEST, d)), (n, 1))
        self._best_settings = np.tile(np.arange(min(_BEST, len(self._columns))), (n, 1))
        self._swept = np.zeros(n, dtype=bool)
        self._since_sweep = np.full(n, _SWEEP_EVERY)
        self.points, self.depth, self.cost = (part.copy() for part in terrain.asked.start)

    def path(self) -> Path:
        """Climb until no move gains, the deepest level is reached, or no moves are left."""
        path, depths = [self.points.copy()], [self.depth.copy()]
        active: IntArray = np.arange(len(self.depth))
        for _ in range(self._max_moves):
            active = active[self.depth[active] < self._ground.top]
            if not active.size:
                break
            active = self._move(active)
            path.append(self.points.copy())
            depths.append(self.depth.copy())
        return Path(np.stack(path, axis=1), np.stack(depths, axis=1))

    def _move(self, rows: IntArray) -> IntArray:
        """Move every row that can gain; give those that may gain again."""
        slopes = self._ground.slopes(rows, self.points[rows])
        if slopes is not None:
            return self._take_best(rows, self._sloped_moves(rows, slopes), self._all_settings(rows), slopes)[0]
        due = self._since_sweep[rows] >= _SWEEP_EVERY
        new = ~self._swept[rows]
        moved = [self._sweep(rows[due & new], both_ways=True), self._sweep(rows[due & ~new], both_ways=False)]
        narrow = rows[~due]
        gained, _ = self._take_best(narrow, self._fine_moves(narrow), self._best_settings[narrow], None)
        # Where the few best features gain nothing, all get a chance before the row gives up.
        since = self._since_sweep[gained] + 1
        self._since_sweep[narrow] = _SWEEP_EVERY
        self._since_sweep[gained] = since
        return np.sort(np.concatenate([*moved, narrow]))

    def _sweep(self, rows: IntArray, *, both_ways: bool) -> IntArray:
        """Try all features and record the best; later sweeps try each only in the direction that rose before."""
        if not rows.size:
            return rows
        columns = self._some_features(rows)
        moves = self._both_ways(columns) if both_ways else self._known_ways(rows, columns, self._sweep_steps)
        depth, cost = self.depth[rows], self.cost[rows]
        moved, tried = self._take_best(rows, moves, self._all_settings(rows), None)
        if tried is not None:
            can, new_depth, new_cost = tried
            ratio = _ratios(new_depth, new_cost, depth[can], cost[can], self._ground.top)
            along, outright = np.split(ratio, [moves.shape[1]], axis=1)
            self._remember(rows[can], columns[can], along.reshape(*columns[can].shape, -1), both_ways=both_ways)
            self._best_settings[rows[can]] = _first(outright, self._best_settings.shape[1])
        self._since_sweep[rows] = 1
        return moved

    def _remember(self, rows: IntArray, columns: IntArray, ratio: FloatArray, *, both_ways: bool) -> None:
        """Record the best features of a sweep; `ratio`, of shape (rows, columns, moves), is the gain per cost."""
        best = _first(ratio.max(axis=2), self._best.shape[1])
        self._best[rows] = np.take_along_axis(columns, best, axis=1)
        if both_ways:
            up, down = (part.max(axis=2) for part in np.split(ratio, 2, axis=2))
            self._ways[rows[:, None], columns] = np.where(down > up, -1.0, 1.0)
            # In a wide table the next sweep looks at other features.
            self._swept[rows] = columns.shape[1] == len(self._ground.features)

    def _take_best(
        self, rows: IntArray, moves: FloatArray, settings: IntArray, slopes: FloatArray | None
    ) -> tuple[IntArray, tuple[BoolArray, FloatArray, FloatArray] | None]:
        """Try moves, shape (rows, k, d), and settings, shape (rows, k), and take the best of each row that gains.

        Returns
        -------
        array of int
            The rows that moved.
        tuple or None
            Which rows could afford it, and depth and cost of their moves and settings, shape (rows, k) each.
        """
        ground = self._ground
        spreads = ground.cost.share > (_SPREADING if slopes is None else 0)
        lengths = self._sweep_steps if slopes is None else self._slope_steps
        n_settings = settings.shape[1]
        can = ground.asked.affordable(rows, moves.shape[1] + n_settings + spreads * len(lengths))
        if not can.all():
            rows, moves, settings = rows[can], moves[can], settings[can]
            slopes = None if slopes is None else slopes[can]
        if not rows.size:
            return rows, None
        tried = [ground.evaluate(rows, self.points, self.points[rows, None] + moves)]
        if n_settings:
            ends = np.repeat(self.points[rows, None], n_settings, axis=1)
            np.put_along_axis(ends, self._columns[settings][..., None], self._values[settings][..., None], axis=2)
            tried.append(ground.evaluate(rows, self.points, ends))
        if spreads:
            slopes = _estimated(moves, tried[0][1], self.depth[rows]) if slopes is None else slopes
            ends = self.points[rows, None] + self._spread_moves(rows, slopes, lengths)
            tried.append(ground.evaluate(rows, self.points, ends))
        candidates, depth, cost = tried[0]
        if len(tried) > 1:
            candidates, depth, cost = (np.concatenate(parts, axis=1) for parts in zip(*tried, strict=True))
        ratio = _ratios(depth, cost, self.depth[rows], self.cost[rows], ground.top)
        best = ratio.max(axis=1)
        moved = np.flatnonzero(best > -np.inf)
        chosen = np.where(ratio >= _GOOD_ENOUGH * best[:, None], np.minimum(depth, ground.top), -np.inf).argmax(axis=1)
        rows, chosen = rows[moved], chosen[moved]
        self.points[rows] = candidates[moved, chosen]
        self.depth[rows], self.cost[rows] = depth[moved, chosen], cost[moved, chosen]
        known = moves.shape[1] + n_settings
        return rows, (can, depth[:, :known], cost[:, :known])

    # The moves that are tried

    def _both_ways(self, columns: IntArray) -> FloatArray:
        """Give moves up and down some features of each row, shape (rows, k, d)."""
        lengths = np.concatenate([self._sweep_steps, -self._sweep_steps])
        return self._sized(columns, np.broadcast_to(lengths, (*columns.shape, len(lengths))))

    def _known_ways(self, rows: IntArray, columns: IntArray, lengths: FloatArray) -> FloatArray:
        """Give moves along some features of each row, in the direction that rose before."""
        ways = np.take_along_axis(self._ways[rows], columns, axis=1)
        return self._sized(columns, ways[..., None] * lengths)

    def _fine_moves(self, rows: IntArray) -> FloatArray:
        """Give moves of many lengths along the few best features."""
        return self._known_ways(rows, self._best[rows], self._fine_steps)

    def _all_settings(self, rows: IntArray) -> IntArray:
        return np.broadcast_to(np.arange(len(self._columns)), (len(rows), len(self._columns)))

    def _sloped_moves(self, rows: IntArray, slopes: FloatArray) -> FloatArray:
        """Give moves along the steepest features, in the direction in which they rise."""
        ground = self._ground
        scaled = slopes * ground.features.scale
        ahead = ground.room(rows, self.points[rows], scaled)
        homeward = (ground.starts[rows] - self.points[rows]) * scaled > 0
        # A move towards the base costs less than nothing, so its slope counts for more than any other.
        appeal = np.abs(scaled) / ground.cost.weight * np.where(homeward, 1e6, 1.0)
        columns = np.argsort(-np.where(ahead > 0, appeal, -1.0), axis=1, kind="stable")[:, : self._steepest]
        steepest = scaled[np.arange(len(rows))[:, None], columns]
        return self._sized(columns, np.sign(steepest)[..., None] * self._slope_steps)

    def _sized(self, columns: IntArray, lengths: FloatArray) -> FloatArray:
        """Turn lengths in units of the ranges into moves; a step shorter than the grid would be rounded away."""
        features = self._ground.features
        size = np.maximum(np.abs(lengths) * features.scale[columns][..., None], features.unit[columns][..., None])
        if features.any_nominal:
            size[features.is_nominal[columns]] = 0
        n, k, n_steps = lengths.shape
        moves = np.zeros((n * k * n_steps, len(features)))
        moves[np.arange(len(moves)), np.repeat(columns, n_steps)] = (np.sign(lengths) * size).ravel()
        return moves.reshape(n, k * n_steps, len(features))

    def _spread_moves(self, rows: IntArray, slopes: FloatArray, lengths: FloatArray) -> FloatArray:
        """Give moves along all features that are worth their cost, shape (rows, k, d)."""
        scale = self._ground.features.scale
        direction = self._ground.direction(rows, self.points[rows], slopes * scale)
        return np.asarray(lengths[:, None] * (direction * scale)[:, None])

    def _some_features(self, rows: IntArray) -> IntArray:
        """Select the features to try: all of them, or, in wide tables, a random sample."""
        d = self._ground.starts.shape[1]
        if d <= _MOST_FEATURES:
            return np.broadcast_to(np.arange(d), (len(rows), d))
        return np.stack([self._ground.generators[i].choice(d, _MOST_FEATURES, replace=False) for i in rows])


def _first(ratio: FloatArray, k: int) -> IntArray:
    """Give the places of the k best of each row, the best first."""
    return np.argsort(-ratio, axis=1, kind="stable")[:, :k]


def _ratios(depth: FloatArray, cost: FloatArray, depth_now: FloatArray, cost_now: FloatArray, top: float) -> FloatArray:
    """Give the gain of each candidate for its cost, shape (rows, k); -inf where there is none."""
    gain = np.minimum(depth, top) - depth_now[:, None]
    price = np.maximum(cost - cost_now[:, None], 1e-6)
    return np.where(gain > 1e-9, gain / price, -np.inf)


def _estimated(moves: FloatArray, new_depth: FloatArray, depth: FloatArray) -> FloatArray:
    """Estimate slopes from the single moves that were tried anyway."""
    length = moves.sum(axis=2, keepdims=True)
    rise = np.where(np.isfinite(new_depth), new_depth - depth[:, None], 0.0)[..., None]
    tried: BoolArray = (moves != 0) & (length != 0)
    return np.asarray(
        np.where(tried, rise / np.where(length == 0, 1, length), 0.0).sum(axis=1) / np.maximum(tried.sum(axis=1), 1)
    )
