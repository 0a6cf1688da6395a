"""A point that enough tree members accept, as close as a long local search gets: an upper bound on the closest one.

Between two thresholds of the members nothing changes, so the closest point has every feature where the base has it or
just past a threshold. The search moves over these values alone. It pushes many points at once: some features back
towards the base, others away for less than that saved, and keeps what is still accepted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from betarce.arrays import FloatArray, IntArray

CHAINS = 12  # points that are pushed at the same time
PROPOSALS = 24  # tried for each of them in one round
ROUNDS = 60
RESTARTS = 8  # from other points, at most, for each number of votes
PATIENCE = 2  # restarts without a closer point, after which it is left alone
_WARM = 0.08  # a chain may step back by this share of its distance, in the beginning
_STEPS = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32])  # values of the grid that an exchange passes over
_SHRINKING = np.array([0.6, 0.3, 0.1])  # how often one, two or three features go back
_GROWING = np.array([0.35, 0.4, 0.25])  # how often none, one or two go away

Votes = Callable[[FloatArray], IntArray]
"""Counts the members that accept each point; 0 where the model does not."""


def thresholds(models: Sequence[object], n_features: int) -> list[FloatArray]:
    """Read the thresholds of fitted LightGBM classifiers, sorted, by feature."""
    found: list[list[FloatArray]] = [[] for _ in range(n_features)]
    for model in models:
        booster = getattr(model, "estimator_", model).booster_
        lines = [line.partition("=") for line in booster.model_to_string().splitlines()]
        features = [np.array(text.split(), dtype=int) for name, _, text in lines if name == "split_feature"]
        values = [np.array(text.split(), dtype=float) for name, _, text in lines if name == "threshold"]
        for feature, value in zip(features, values, strict=True):
            for j in range(n_features):
                found[j].append(value[feature == j])
    return [np.unique(np.concatenate(each)) for each in found]


@dataclass(frozen=True, eq=False)
class Grid:
    """The values that the features of the closest point can have.

    Attributes
    ----------
    values : list of array
        By feature, sorted; the base's own is among them.
    base : array of int, shape (d,)
        Where the base is among them.
    """

    values: list[FloatArray]
    base: IntArray

    @classmethod
    def around(cls, base: FloatArray, lower: FloatArray, upper: FloatArray, cuts: Sequence[FloatArray]) -> "Grid":
        """Keep what is just past a threshold, seen from the base, and inside the box."""
        values = []
        for x, low, high, cut in zip(base, lower, upper, cuts, strict=True):
            past = np.where(cut < x, cut, np.nextafter(cut, np.inf))  # a split sends "at most" to the left
            values.append(np.unique(np.append(past[(past >= low) & (past <= high)], x)))
        return cls(values, np.array([np.searchsorted(v, x) for v, x in zip(values, base, strict=True)]))

    def points(self, places: IntArray) -> FloatArray:
        """Turn places among the values, shape (n, d), into points."""
        return np.stack([value[place] for value, place in zip(self.values, places.T, strict=True)], axis=1)

    def cost(self, places: IntArray) -> FloatArray:
        """Give the L1 distance to the base."""
        return np.asarray(np.abs(self.points(places) - self.points(self.base[None])).sum(axis=1))

    def places(self, points: FloatArray) -> IntArray:
        """Find the values of the same cells that are closest to the base: no member can tell the difference."""
        columns = []
        for j, value in enumerate(self.values):
            x = points[:, j]
            below = np.searchsorted(value, x, side="left").clip(max=len(value) - 1)
            above = np.searchsorted(value, x, side="right") - 1
            columns.append(np.where(x < value[self.base[j]], below, above.clip(min=0)))
        return np.stack(columns, axis=1)


class Archive:
    """The closest point known by votes: one with more votes counts for fewer, too."""

    def __init__(self, most: int, d: int) -> None:
        self.cost = np.full(most + 1, np.inf)
        self.places = np.zeros((most + 1, d), dtype=int)

    def add(self, places: IntArray, votes: IntArray, cost: FloatArray) -> None:
        """Take in what is closer than what was known."""
        better = np.flatnonzero(cost < self.cost[votes])
        for i in better[np.argsort(cost[better], kind="stable")]:
            levels = slice(0, votes[i] + 1)
            worse = np.flatnonzero(self.cost[levels] > cost[i])
            self.cost[worse], self.places[worse] = cost[i], places[i]


def closest_by_votes(
    grid: Grid,
    votes: Votes,
    levels: Sequence[int],
    starts: FloatArray,
    *,
    most: int,
    seed: int,
) -> dict[int, FloatArray]:
    """Search long for the closest point at each of some numbers of votes.

    Parameters
    ----------
    grid : Grid
    votes : callable
        Counts the members that accept each point, at most `most`; 0 where the model does not.
    levels : sequence of int
        Votes required.
    starts : array of shape (n, d)
        Points to begin with; those that are not accepted are of no use, and do no harm.
    most, seed : int

    Returns
    -------
    dict
        By votes required, the closest point found; nothing where none of the starts has so many.
    """
    archive = Archive(most, len(grid.base))
    places = np.unique(np.vstack([grid.places(starts), grid.base]), axis=0)
    places = places[np.argsort(grid.cost(places), kind="stable")]
    counts = votes(grid.points(places))
    archive.add(places, counts, grid.cost(places))
    rng = np.random.default_rng(seed)
    for level in sorted(set(levels), reverse=True):  # what has more votes is a start for what needs fewer
        able, idle = places[counts >= level], 0
        for restart in range(RESTARTS if 0 < archive.cost[level] < np.inf else 0):
            before = archive.cost[level]
            chosen = np.arange(len(able)) if restart == 0 else rng.permutation(len(able))
            state = np.vstack([archive.places[[level]], able[chosen]])[restart % 2 :][:CHAINS]
            _push(grid, votes, level, archive, np.resize(state, (CHAINS, len(grid.base))), rng)
            idle = 0 if archive.cost[level] < before else idle + 1
            if idle == PATIENCE:
                break
        while _exchange(grid, votes, level, archive):
            pass
    return {k: grid.points(archive.places[[k]])[0] for k in set(levels) if np.isfinite(archive.cost[k])}


def _push(grid: Grid, votes: Votes, level: int, archive: Archive, state: IntArray, rng: np.random.Generator) -> None:
    """Push points that have the votes required towards the base; what is met on the way goes to the archive."""
    chains = np.repeat(np.arange(len(state)), PROPOSALS)
    for turn in range(ROUNDS):
        warmth = _WARM * max(0.0, 1 - 1.5 * turn / ROUNDS)
        tried = _proposals(grid, state[chains], rng)
        cost = grid.cost(tried)
        near = cost < grid.cost(state)[chains] * (1 + warmth)
        worth = np.flatnonzero(near & (tried != state[chains]).any(axis=1))
        if not worth.size:
            continue
        tried, cost, chain = tried[worth], cost[worth], chains[worth]
        counts = votes(grid.points(tried))
        archive.add(tried, counts, cost)
        accepted = np.flatnonzero(counts >= level)
        order = accepted[np.argsort(-cost[accepted], kind="stable")]
        state[chain[order]] = tried[order]  # of several for one chain, the last and closest stays


def _exchange(grid: Grid, votes: Votes, level: int, archive: Archive) -> bool:
    """Try all small trades of one feature for another at the closest point; say whether one of them is closer."""
    best, d = archive.places[level], len(grid.base)
    if not 0 < archive.cost[level] < np.inf:
        return False
    towards = np.sign(grid.base - best)
    singles = [towards[j] * np.append(_STEPS, abs(grid.base[j] - best[j])) for j in range(d)]
    others = np.concatenate([-_STEPS, [0], _STEPS])
    one = np.eye(d, dtype=int)
    moves = [
        (singles[j][:, None, None] * one[j] + others[:, None] * one[i]).reshape(-1, d)
        for j, i in permutations(range(d), 2)
        if towards[j]
    ]
    last = np.array([len(value) - 1 for value in grid.values])
    tried = np.unique(np.clip(best + np.concatenate(moves), 0, last), axis=0)
    cost = grid.cost(tried)
    closer = cost < archive.cost[level]
    before = archive.cost[level]
    if closer.any():
        archive.add(tried[closer], votes(grid.points(tried[closer])), cost[closer])
    return bool(archive.cost[level] < before)


def _proposals(grid: Grid, state: IntArray, rng: np.random.Generator) -> IntArray:
    """Move some features back towards the base, and others away for a part of what that saves."""
    n, d = state.shape
    here, base = grid.points(state), grid.points(grid.base[None])
    away = np.abs(here - base)
    score = np.where(away > 0, rng.random((n, d)), -1.0)
    rank = np.argsort(np.argsort(-score, axis=1), axis=1)
    count = 1 + rng.choice(3, size=n, p=_SHRINKING)
    share = np.where(rng.random((n, d)) < 0.25, 1.0, 10 ** rng.uniform(-2.5, 0, (n, d)))
    back = np.where((rank < count[:, None]) & (score >= 0), share * away, 0.0)
    saved = back.sum(axis=1)
    grow = rng.random((n, d)).argsort(axis=1).argsort(axis=1) < rng.choice(3, size=n, p=_GROWING)[:, None]
    parts = np.where(grow & (back == 0), rng.random((n, d)), 0.0)
    parts *= (rng.random(n) * saved / np.maximum(parts.sum(axis=1), 1e-12))[:, None]
    side = np.where(away > 0, np.sign(here - base), rng.choice([-1.0, 1.0], size=(n, d)))
    return _placed(grid, base + side * np.maximum(away - back + parts, 0.0))


def _placed(grid: Grid, points: FloatArray) -> IntArray:
    """Bring points to the grid: to the values next to them that are no farther from the base."""
    low, high = (np.array([value[end] for value in grid.values]) for end in (0, -1))
    return grid.places(np.clip(points, low, high))
