"""Frontier: for every level of depth, the closest point that is so deep.

Depth says how far inside the target class a point lies under all search members together. From the base the search
climbs, always by the move that gains most depth for its distance; places a rung at every level that it passed; then
moves the rungs closer to the base: where slopes are known by turning them into the cheapest direction, else by putting
single features back. What comes out is a ladder, deepest and farthest first. The search knows a depth and a feature
space, no models.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.features import Box, FeatureSpace, Norm
from betarce.search.direction import steepest
from betarce.search.evaluations import Depth, Evaluations
from betarce.search.ladders import Ladders
from betarce.search.levels import DEEPEST

_GOOD_ENOUGH = 0.9  # of the best gain for its distance: then the larger step is taken
_SPREADING = 0.5  # share of L2 from which moves along many features are tried even if slopes must be guessed
_STEEPEST = 4  # features tried where slopes are known
_MOST_FEATURES = 64  # features tried at once where they are not
_FRACTIONS = np.array([1.0, 0.5, 0.25, 0.1])
_APPROACH = np.array([0.0, 0.15, 0.3, 0.45, 0.6, 0.75])  # shares of the way from an anchor to the base
_TRIES = 3  # points on the way between two levels, for each rung
_MARGIN = 0.03  # of the depth above the last point: rungs aim at so much more than their level
_BLENDS = np.array([1.0, 0.5, 0.25])  # shares of the way from a rung to where its slopes point
_SHRINKS = np.array([1.0, 0.95])
_DIGITS = 4  # of what is computed from depths and slopes: these differ in their last bits from batch to batch
_STRIDE = 3  # every third rung is refined in each round


@dataclass(frozen=True)
class FrontierSearch:
    """Closest points by depth.

    Parameters
    ----------
    norm : float or {"l1", "l2"}
        What "closest" means; a number between 0 and 1 is the share of L2 in a mixture of both. The default costs hardly
        any L1 and much less L2 than L1 alone.
    steps : tuple of float
        Lengths of the moves that are tried, in units of the features' ranges.
    max_climbs : int
        Moves from the base to the deepest rung, at most.
    refinements : int
        Rounds in which rungs are moved closer to the base.
    max_evaluations : int
        Budget a row.

    Examples
    --------
    >>> class Plane:
    ...     def __call__(self, points, rows):
    ...         return 10 * points[:, 0] - 5, points[:, 0] > 0.2
    ...     def slopes(self, points, rows):
    ...         return None
    >>> features = FeatureSpace.infer(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> bases = np.array([[0.3, 0.4]])
    >>> ladders = FrontierSearch().climb(bases, Plane(), features, features.box(bases), seeds=[0])
    >>> int(ladders.exists.sum()) > 10
    True
    >>> bool((ladders.points[ladders.exists][:, 1] == 0.4).all())
    True
    """

    norm: Norm | float = 0.4
    steps: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03)
    max_climbs: int = 16
    refinements: int = 3
    max_evaluations: int = 20_000

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2") and not (isinstance(self.norm, (int, float)) and 0 <= self.norm <= 1):
            raise InvalidInput(f"`norm` must be 'l1', 'l2' or a number between 0 and 1; got {self.norm!r}.")
        if not self.steps or not all(0 < step < np.inf for step in self.steps):
            raise InvalidInput(f"`steps` must be one or more numbers > 0; got {self.steps!r}.")
        for name, least in (("max_climbs", 1), ("refinements", 0), ("max_evaluations", 1)):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < least:
                raise InvalidInput(f"`{name}` must be a whole number >= {least}; got {getattr(self, name)!r}.")

    @property
    def share(self) -> float:
        """The share of L2 in the cost."""
        return float({"l1": 0.0, "l2": 1.0}[self.norm] if isinstance(self.norm, str) else self.norm)

    def climb(
        self,
        bases: FloatArray,
        depth: Depth,
        features: FeatureSpace,
        box: Box,
        seeds: Sequence[int],
        anchors: Callable[[IntArray], FloatArray] | None = None,
    ) -> Ladders:
        """Build a ladder from every base; all rows advance together, and none depends on the others.

        Parameters
        ----------
        bases : array of shape (n, d)
            What the points should stay close to.
        depth : Depth
            What is to be had.
        features : FeatureSpace
        box : Box
            Where each row's points may lie.
        seeds : sequence of int
            One a row.
        anchors : callable, optional
            Gives deep points of the data, shape (rows, anchors, d), the nearest first and the safest last. They show
            the way where climbing gets stuck, and are the safest rungs of all.
        """
        run = _Run(self, bases, depth, features, box, seeds)
        path = run.climb()
        run.place_rungs(path)
        deep = None if anchors is None else anchors(np.arange(len(bases)))
        if deep is not None:
            run.walk_to(deep, np.flatnonzero(path.depth[:, -1] < DEEPEST))
        for turn in range(self.refinements):
            run.refine(turn)
        ladders = run.ladders()
        return ladders if deep is None else run.extend(run.extend(ladders, deep[:, 0]), deep[:, -1])


@dataclass(frozen=True, eq=False)
class _Path:
    """Where each row went: points (n, moves, d) and depth (n, moves); a row that stopped repeats its end."""

    points: FloatArray
    depth: FloatArray


class _Run:
    """One search: what was evaluated so far, and what is left to spend."""

    def __init__(
        self,
        search: FrontierSearch,
        bases: FloatArray,
        depth: Depth,
        features: FeatureSpace,
        box: Box,
        seeds: Sequence[int],
    ) -> None:
        self.search, self.bases, self.depth, self.features, self.box = search, bases, depth, features, box
        self.generators = [np.random.default_rng(seed) for seed in seeds]
        self.asked = Evaluations(bases, depth, features, box, share=search.share, budget=search.max_evaluations)

    def climb(self) -> _Path:
        """Go up, always by the best gain for its distance."""
        rows: IntArray = np.arange(len(self.bases))
        points, depth, cost = (part.copy() for part in self.asked.start)
        path, depths = [points.copy()], [depth.copy()]
        active: IntArray = rows
        for _ in range(self.search.max_climbs):
            active = active[depth[active] < DEEPEST]
            if not active.size:
                break
            moved = self._climb_once(active, points, depth, cost)
            if not moved.size:
                break
            path.append(points.copy())
            depths.append(depth.copy())
            active = moved
        return _Path(np.stack(path, axis=1), np.stack(depths, axis=1))

    def _climb_once(self, rows: IntArray, points: FloatArray, depth: FloatArray, cost: FloatArray) -> IntArray:
        """Move every row that can gain; give those that did."""
        slopes = self.depth.slopes(points[rows], rows)
        moves = self._single_moves(rows, points, slopes)
        spreads = self.search.share > (_SPREADING if slopes is None else 0)
        can = self.asked.affordable(
            rows, moves.shape[1] + len(self.features.settings[0]) + spreads * len(self.search.steps)
        )
        rows, moves = rows[can], moves[can]
        if not rows.size:
            return rows
        tried = [self._evaluate_ends(rows, points, points[rows, None] + moves)]
        if len(self.features.settings[0]):
            tried.append(self._evaluate_ends(rows, points, self._set(points[rows])))
        if spreads:
            slopes = self._estimated(moves, tried[0][1], depth[rows]) if slopes is None else slopes[can]
            ends = points[rows, None] + self._spread_moves(rows, points, slopes)
            tried.append(self._evaluate_ends(rows, points, ends))
        candidates, new_depth, new_cost = (np.concatenate(parts, axis=1) for parts in zip(*tried, strict=True))
        gain = np.minimum(new_depth, DEEPEST) - depth[rows, None]
        price = np.maximum(new_cost - cost[rows, None], 1e-6)
        ratio = np.where(gain > 1e-9, gain / price, -np.inf)
        best = ratio.max(axis=1, keepdims=True)
        chosen = np.where(ratio >= _GOOD_ENOUGH * best, gain, -np.inf).argmax(axis=1)
        moved = np.flatnonzero(np.isfinite(best[:, 0]))
        rows, chosen = rows[moved], chosen[moved]
        points[rows] = candidates[moved, chosen]
        depth[rows], cost[rows] = new_depth[moved, chosen], new_cost[moved, chosen]
        return rows

    def _evaluate_ends(
        self, rows: IntArray, points: FloatArray, ends: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Give what is allowed of the ends of moves, shape (rows, k, d), with their depth and cost, both (rows, k).

        What the rules or the grid took back altogether is not asked about: its depth is -inf.
        """
        n, k, d = ends.shape
        owners = np.repeat(rows, k)
        candidates = self.features.project(ends.reshape(n * k, d), self.box.take(owners))
        moved = np.flatnonzero(self.features.differs(candidates, points[owners]).any(axis=1))
        depth, cost = np.full(n * k, -np.inf), np.zeros(n * k)
        if moved.size:
            depth[moved], cost[moved], _ = self.asked.ask(owners[moved], candidates[moved])
        return candidates.reshape(n, k, d), depth.reshape(n, k), cost.reshape(n, k)

    def _set(self, points: FloatArray) -> FloatArray:
        """Give each point every name, and every other value to which no small step leads, one at a time."""
        columns, values = self.features.settings
        ends = np.repeat(points[:, None], len(columns), axis=1)
        ends[:, np.arange(len(columns)), columns] = values
        return ends

    def _single_moves(self, rows: IntArray, points: FloatArray, slopes: FloatArray | None) -> FloatArray:
        """Give moves along single features, shape (rows, k, d): the steepest where slopes are known, else all."""
        steps = np.array(self.search.steps)
        if slopes is None:
            columns = self._some_features(rows)
            lengths = np.broadcast_to(np.concatenate([steps, -steps]), (*columns.shape, 2 * len(steps)))
        else:
            slopes = slopes * self.features.scale
            ahead = self._room(rows, points[rows], slopes)
            homeward = (self.bases[rows] - points[rows]) * slopes > 0
            # A move towards the base costs less than nothing, so its slope counts for more than any other.
            appeal = np.where(ahead > 0, np.abs(slopes) * np.where(homeward, 1e6, 1.0), -1.0)
            columns = np.argsort(-appeal, axis=1, kind="stable")[:, :_STEEPEST]
            lengths = np.sign(np.take_along_axis(slopes, columns, axis=1))[..., None] * steps
        # A step shorter than the grid would be rounded away.
        size = np.maximum(
            np.abs(lengths) * self.features.scale[columns][..., None], self.features.unit[columns][..., None]
        )
        size[self.features.is_nominal[columns]] = 0
        moves = np.zeros((*lengths.shape, points.shape[1]))
        np.put_along_axis(moves, columns[..., None, None], (np.sign(lengths) * size)[..., None], 3)
        return moves.reshape(len(rows), -1, points.shape[1])

    def _spread_moves(self, rows: IntArray, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Give moves along all features that are worth their cost, shape (rows, k, d)."""
        direction = self._direction(rows, points[rows], slopes * self.features.scale)
        return np.asarray(np.array(self.search.steps)[:, None] * (direction * self.features.scale)[:, None])

    def _direction(self, rows: IntArray, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Give the cheapest direction to rise in, among the features that have room for it."""
        return steepest(np.where(self._room(rows, points, slopes) > 0, slopes, 0.0), self.search.share)

    def _room(self, rows: IntArray, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Say how far each feature can go the way it rises."""
        return np.where(slopes > 0, self.box.upper[rows] - points, points - self.box.lower[rows])

    def _estimated(self, moves: FloatArray, new_depth: FloatArray, depth: FloatArray) -> FloatArray:
        """Read slopes off the single moves that were tried anyway."""
        length = moves.sum(axis=2, keepdims=True)
        rise = np.where(np.isfinite(new_depth), new_depth - depth[:, None], 0.0)[..., None]
        tried = (moves != 0) & (length != 0)
        return np.asarray(
            np.where(tried, rise / np.where(length == 0, 1, length), 0.0).sum(axis=1) / np.maximum(tried.sum(axis=1), 1)
        )

    def _some_features(self, rows: IntArray) -> IntArray:
        """Pick the features to try: all of them, or, in wide tables, some at random."""
        d = self.bases.shape[1]
        if d <= _MOST_FEATURES:
            return np.broadcast_to(np.arange(d), (len(rows), d))
        return np.stack([self.generators[i].choice(d, _MOST_FEATURES, replace=False) for i in rows])

    def place_rungs(self, path: _Path) -> None:
        """Put a point where the path passes each level, by the rule of three between ever closer ends."""
        levels = self.asked.archive.levels
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
            depth = self.asked.try_(rows, self.features.blend(end, start, 1 - share[:, None]))
            deep = depth >= level
            left, below = np.where(deep, left, share), np.where(deep, below, depth)
            right, above = np.where(deep, share, right), np.where(deep, depth, above)

    def walk_to(self, anchors: FloatArray, rows: IntArray) -> None:
        """Take over the anchors' features one by one, best gain for its distance first, up to the anchor itself."""
        for anchor in np.swapaxes(anchors[rows], 0, 1):
            points, depth, cost = (part[rows] for part in self.asked.start)
            open_ = self.box.free[rows] & self.features.differs(points, anchor)
            for _ in range(min(points.shape[1], _MOST_FEATURES)):
                self.asked.affordable(rows, open_.sum(axis=1))
                open_[self.asked.spent[rows]] = False
                which, columns = np.nonzero(open_)
                if not which.size:
                    break
                candidates = points[which]
                candidates[np.arange(len(which)), columns] = anchor[which, columns]
                candidates = self.features.project(candidates, self.box.take(rows[which]))
                new_depth, new_cost, _ = self.asked.ask(rows[which], candidates)
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

    def refine(self, turn: int) -> None:
        """Move some of the rungs closer to the base."""
        points, rows, levels = self.asked.archive.distinct()
        mine = levels % _STRIDE == turn % _STRIDE
        points, rows = points[mine], rows[mine]
        slopes = self.depth.slopes(points, rows)
        if slopes is None:
            self._put_back(points, rows, np.ones(len(self.features), dtype=bool))
        else:
            self._turn(points, rows, slopes * self.features.scale)
            self._put_back(points, rows, self.features.is_nominal)

    def _turn(self, points: FloatArray, rows: IntArray, slopes: FloatArray) -> None:
        """Turn rungs towards the cheapest points that are as deep, if the slopes at the rungs held everywhere."""
        numbers = ~(self.features.is_nominal | np.isnan(points) | np.isnan(self.bases[rows]))
        away = np.where(numbers, points - self.bases[rows], 0.0) / self.features.scale
        direction = self._direction(rows, self.bases[rows], np.where(numbers, slopes, 0.0))
        rise, slope = (slopes * away).sum(axis=1), (slopes * direction).sum(axis=1)
        useful = np.flatnonzero((rise > 0) & (slope > 0))
        away, rows, starts = away[useful], rows[useful], np.where(numbers, self.bases[rows], points)[useful]
        ideal = direction[useful] * np.round(rise[useful] / slope[useful], _DIGITS)[:, None]
        ways = away[:, None] + _BLENDS[:, None] * (ideal - away)[:, None]
        ways = (ways[:, :, None] * _SHRINKS[:, None]).reshape(-1, away.shape[1])
        k = len(_BLENDS) * len(_SHRINKS)
        self.asked.try_(np.repeat(rows, k), np.repeat(starts, k, axis=0) + ways * self.features.scale)

    def _put_back(self, points: FloatArray, rows: IntArray, some: BoolArray) -> None:
        """Move some single features back towards the base, wholly or in part."""
        bases = self.bases[rows]
        close = np.abs(points - bases) <= 1e-9 * self.features.scale
        which, columns = np.nonzero(self.features.differs(points, bases) & ~close & some)
        if not which.size:
            return
        numeric = ~(self.features.is_nominal[columns] | np.isnan(points[which, columns] - bases[which, columns]))
        # A name goes back wholly or not at all.
        fraction, member = np.meshgrid(_FRACTIONS, np.arange(len(which)))
        kept = (numeric[member] | (fraction == 1)).ravel()
        which, columns, fraction = (
            part[kept] for part in (which[member.ravel()], columns[member.ravel()], fraction.ravel())
        )
        candidates = points[which]
        back = self.features.blend(candidates, bases[which], fraction[:, None])
        places = np.arange(len(which))
        candidates[places, columns] = back[places, columns]
        shrunk = self.features.blend(points, bases, 0.07)
        self.asked.try_(np.concatenate([rows[which], rows]), np.concatenate([candidates, shrunk]))

    def extend(self, ladders: Ladders, anchors: FloatArray) -> Ladders:
        """Put points on the way to an anchor on top of each ladder, where they are as deep as its first rung.

        A point that was climbed to may lie where there are no data, and retrained models agree there less than they
        seem to; a row of the data is safer, if farther.
        """
        n, k = len(anchors), len(_APPROACH)
        ways = self.features.blend(anchors[:, None], self.bases[:, None], _APPROACH[:, None])
        rows = np.repeat(np.arange(n), k)
        points = self.features.project(ways.reshape(n * k, -1), self.box.take(rows))
        can = self.asked.affordable(np.arange(n), k)[rows]
        depth, cost, valid = np.full(n * k, -np.inf), np.zeros(n * k), np.zeros(n * k, dtype=bool)
        depth[can], cost[can], valid[can] = self.asked.ask(rows[can], points[can])
        first = ladders.exists.argmax(axis=1)
        top = np.where(ladders.exists.any(axis=1), ladders.levels[np.arange(n), first], 0.0)
        top_cost = self.asked.cost(ladders.points[np.arange(n), first], self.bases)
        farther = cost > np.where(ladders.exists.any(axis=1), top_cost, 0.0)[rows]
        exists = (valid & (depth >= top[rows]) & farther).reshape(n, k)
        return Ladders(
            np.concatenate([points.reshape(n, k, -1), ladders.points], axis=1),
            np.concatenate([exists, ladders.exists], axis=1),
            np.concatenate([np.full((n, k), DEEPEST), ladders.levels], axis=1),
            ladders.n_evaluations,
            ladders.spent,
        )

    def ladders(self) -> Ladders:
        """Give the best points by level."""
        points, cost = self.asked.archive.best()
        exists = np.isfinite(cost)
        exists[:, 1:] &= cost[:, 1:] < cost[:, :-1]
        return Ladders(points, exists, self.asked.archive.levels, self.asked.count, self.asked.spent)
