"""NICE: take over values of the nearest unlike neighbour, one at a time, until the class flips."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.special import expit

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_whole, is_one_of
from betarce.errors import InvalidInput
from betarce.explainers.nearest import NearestUnlike
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.explainers.training_rows import by_target, nearest, predicted
from betarce.features import Box, Norm

Reward = Literal["sparsity", "proximity", "plausibility"]
_TINY = 1e-12
_MOST = 300.0  # of the logarithm of a ratio of densities, lest it overflow


@register("nice")
@dataclass(frozen=True)
class Nice:
    """Take over values of the nearest unlike neighbour, the most rewarding first, until the class flips.

    Parameters
    ----------
    reward : {"sparsity", "proximity", "plausibility"}
        What a value is chosen for: how much it raises the predicted probability of the target class; the same for each
        unit of distance; the same, in favour of places where training rows of the target class are dense.
    n_candidates : int
        How many neighbours to try, see `NearestUnlike`.
    true_label : bool
        Whether the neighbour must be classified correctly, as in the paper.
    n_neighbors : int
        For "plausibility": from how many nearest training rows of the target class the density is told.
    norm : {"l1", "l2"}
        Which distance, for the neighbour and the rewards.

    Notes
    -----
    Promises a point of the target class whose every value is the original's or its neighbour's, and so one that is
    never farther than the neighbour. Draws nothing at random. Where the rules link columns, values that depend on
    others follow them.

    Differs from the paper in the reward "plausibility": the paper trains an autoencoder and multiplies the gain in
    probability by the drop of its error, which also rewards a value that worsens both. Here, the gain is multiplied by
    the factor by which the density of the target class rises (a loss is divided by it), as the nearest training rows
    tell it: one over their mean distance, to the power of the number of features.

    References
    ----------
    Brughmans, Leyman & Martens (2024), "NICE: an algorithm for nearest instance counterfactual explanations", Data
    Mining and Knowledge Discovery 38.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> from betarce.features import FeatureSpace
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.5], [3.0, 1.0]]), np.array([0, 0, 1, 1])
    >>> features = FeatureSpace.infer(X)
    >>> problem = Problem(Ensemble([LogisticRegression().fit(X, y)], [0, 1]), features, X, y)
    >>> original, wanted = np.array([[0.0, 0.0]]), np.array([[False, True]])
    >>> Nice().explain(original, wanted, problem, features.box(original), seeds=[0]).points  # the neighbour: 2, 0.5
    array([[2., 0.]])
    """

    reward: Reward = "sparsity"
    n_candidates: int = 100
    true_label: bool = True
    n_neighbors: int = 5
    norm: Norm = "l1"

    def __post_init__(self) -> None:
        if not is_one_of(self.reward, ("sparsity", "proximity", "plausibility")):
            raise InvalidInput(f"`reward` must be 'sparsity', 'proximity' or 'plausibility'; got {self.reward!r}.")
        for name in ("n_candidates", "n_neighbors"):
            check_whole(name, getattr(self, name))
        if not is_one_of(self.norm, ("l1", "l2")):
            raise InvalidInput(f"`norm` must be 'l1' or 'l2'; got {self.norm!r}.")

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""
        neighbours = NearestUnlike(self.n_candidates, true_label=self.true_label, norm=self.norm).explain(
            originals, targets, problem, box, seeds
        )
        start = problem.features.project(originals, box)
        found = np.flatnonzero(neighbours.found)
        climb = _Climb(
            originals[found], start[found], neighbours.points[found], targets[found], problem, box.take(found)
        )
        while climb.active.size:
            climb.step(partial(self._rewards, climb, problem))
        points, spent = neighbours.points.copy(), neighbours.n_evaluations.copy()
        points[found] = climb.points
        spent[found] += climb.spent
        return Explained(points, neighbours.found, neighbours.reasons, spent)

    def _rewards(
        self, climb: "_Climb", problem: Problem, points: FloatArray, rows: IntArray, gains: FloatArray
    ) -> FloatArray:
        """Give the reward of each candidate, from the gain in probability of each."""
        if self.reward == "sparsity":
            return gains
        features = problem.features
        if self.reward == "proximity":
            before = features.distance(climb.points, climb.originals, norm=self.norm)[rows]
            added = features.distance(points, climb.originals[rows], norm=self.norm) - before
            return np.asarray(gains / np.maximum(added, _TINY))
        before = np.empty(len(climb.points))
        before[climb.active] = self._sparseness(climb.points[climb.active], climb.targets[climb.active], problem)
        after = self._sparseness(points, climb.targets[rows], problem)
        denser = np.exp(np.clip(points.shape[1] * np.log(before[rows] / after), -_MOST, _MOST))
        return np.asarray(np.where(gains > 0, gains * denser, gains / denser))

    def _sparseness(self, points: FloatArray, targets: AnyArray, problem: Problem) -> FloatArray:
        """Give the mean distance to the nearest training rows of the target class."""
        away = np.empty(len(points))
        for wanted, members in by_target(targets):
            like = problem.X_train[wanted[predicted(problem)]]
            _, gaps = nearest(problem.features, points[members], like, self.n_neighbors, norm=self.norm)
            away[members] = np.maximum(gaps.mean(axis=1), _TINY)
        return away


class _Climb:
    """Where each row stands between its original and its neighbour."""

    def __init__(
        self,
        originals: FloatArray,
        start: FloatArray,
        neighbours: FloatArray,
        targets: AnyArray,
        problem: Problem,
        box: Box,
    ) -> None:
        self.originals, self.targets = originals, targets
        self.points = start.copy()
        self.spent = np.ones(len(start), dtype=np.intp)
        self._start, self._neighbours, self._box = start, neighbours, box
        self._problem = problem
        self._left = problem.features.differs(start, neighbours)
        self._taken = np.zeros(start.shape, dtype=bool)
        self.active = np.flatnonzero(self._left.any(axis=1))
        self._score = expit(self._margins(start, np.arange(len(start))))

    def _margins(self, points: FloatArray, rows: IntArray) -> FloatArray:
        return self._problem.model.margins(points, self.targets[rows])[:, 0]

    def step(self, rewards_of: Callable[[FloatArray, IntArray, FloatArray], FloatArray]) -> None:
        """Let every active row take over one value."""
        at, column = np.nonzero(self._left[self.active])
        rows = self.active[at]
        taken = self._taken[rows]
        taken[np.arange(len(rows)), column] = True
        points = np.where(taken, self._neighbours[rows], self._start[rows])
        points = self._problem.features.project(points, self._box.take(rows))
        margins = self._margins(points, rows)
        self.spent[self.active] += self._left[self.active].sum(axis=1)

        rewards = np.full((len(self.active), points.shape[1]), -np.inf)
        rewards[at, column] = rewards_of(points, rows, expit(margins) - self._score[rows])
        best = rewards.argmax(axis=1)
        chosen = np.flatnonzero(column == best[at])
        self.points[self.active] = points[chosen]
        self._score[self.active] = expit(margins[chosen])
        self._taken[self.active, best] = True
        self._left[self.active, best] = False

        flipped = (margins[chosen] > 0) & self._allowed(points[chosen])
        exhausted = ~self._left[self.active].any(axis=1) & ~flipped
        # With every value taken over, the point is the neighbour, which is known to be allowed and of the class.
        self.points[self.active[exhausted]] = self._neighbours[self.active[exhausted]]
        self.active = self.active[~flipped & ~exhausted]

    def _allowed(self, points: FloatArray) -> BoolArray:
        features = self._problem.features
        if not features.linked:
            return np.ones(len(points), dtype=bool)
        return np.asarray(~features.violations(points, self._box.take(self.active)).any(axis=1))
