"""Counterfactuals with the lowest worst-case odds of the old class: robust Bayesian recourse (Nguyen et al., 2022)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.explainers.descent import NOTHING_MOVES, Slope, check_choice, check_counts, check_numbers
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.explainers.worst_case_odds import CLOSE, Odds
from betarce.features import Box
from betarce.seeding import generator

_STEPS = 100  # points asked on the way to each neighbour
_PATIENCE = 10  # steps without progress before a row has arrived

_NO_BOUNDARY = (
    "No way to the nearest training rows of the target class crosses into it, with names and fixed columns as they "
    "are. Raise `n_neighbors`, or loosen `features`."
)
_LEFT = (
    "The point with the lowest odds is not in the target class under the model itself. Lower `sigma` or "
    "`perturb_radius`, or raise `n_samples`."
)


@register("rbr")
@dataclass(frozen=True)
class Rbr:
    """Descend from the decision boundary to where samples of the target class outweigh all others.

    Parameters
    ----------
    n_samples : int
        Points drawn around the boundary, labelled by the model.
    perturb_radius : float
        Radius of the ball that they are drawn from, in units of `max_distance`. A larger one shows more of the
        boundary, and makes longer steps: they grow with the gap between the samples of both classes.
    max_distance : float
        The unit of `perturb_radius`, in units of the features' ranges.
    delta_plus : float
        How much farther from the original than the boundary a point may lie, in the L1 distance. 0 stays at that
        distance.
    sigma : float
        Standard deviation of the Gaussian around each sample. A larger one smooths the boundary until only the means
        of the two classes count; a smaller one follows single samples.
    epsilon_op : float
        How far, in the Wasserstein distance, the Gaussians of the old class may come closer: optimistic for that class.
    epsilon_pe : float
        How far those of the target class may withdraw: pessimistic for it. With both at 0 the objective is the plain
        ratio of kernel densities.
    stop_at_wall : bool
        Whether the descent ends where it meets the wall of the ball that `delta_plus` allows, as the authors' program
        does. False goes on along the wall to the minimum of the published objective: often a point where few columns
        have moved, picked by the noise of the samples.
    n_neighbors : int
        How many training rows of the target class are tried to find the boundary.
    learning_rate : float
        What the gradient is multiplied by in each step.
    max_iterations : int
    tolerance : float
        A row whose objective does not fall by more for ten steps has arrived.

    Notes
    -----
    The boundary is the first point of the target class on the straight way to one of the nearest training rows that the
    model puts there; the closest such point counts. Samples around it are split by the model's label. With Gaussians of
    standard deviation `sigma` around them, the objective is the log-odds of the old class,

        log sum_old max N(x; sample) - log sum_target min N(x; sample),

    where each Gaussian may shift its mean and widen its spread within a Wasserstein ball of radius `epsilon_op` or
    `epsilon_pe`. It is minimised by projected gradient descent within the L1 ball around the original that reaches
    `delta_plus` beyond the boundary. Names and missing values stay as they are.

    Promises low odds of the old class near the boundary point. The point is moved to allowed values and scored by the
    model itself; where that refuses it, the row says so.

    References
    ----------
    T.-D. H. Nguyen, N. Bui, D. Nguyen, M.-C. Yue, V. A. Nguyen: Robust Bayesian recourse. UAI 2022.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> from betarce.features import FeatureSpace
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> y = (X @ [3, 4] > 3.5).astype(int)
    >>> features = FeatureSpace.infer(X)
    >>> problem = Problem(Ensemble([LogisticRegression(C=100).fit(X, y)], [0, 1]), features, X, y)
    >>> originals = np.array([[0.2, 0.2]])
    >>> target = np.array([[False, True]])
    >>> def moved(method):
    ...     result = method.explain(originals, target, problem, features.box(originals), seeds=[0])
    ...     return float(features.distance(result.points, originals)[0])
    >>> round(moved(Rbr(delta_plus=0.2)) - moved(Rbr(delta_plus=0.0)), 6)
    0.2
    """

    n_samples: int = 100
    perturb_radius: float = 0.2
    max_distance: float = 1.0
    delta_plus: float = 0.2
    sigma: float = 1.0
    epsilon_op: float = 0.0
    epsilon_pe: float = 0.0
    stop_at_wall: bool = True
    n_neighbors: int = 10
    learning_rate: float = 0.03
    max_iterations: int = 500
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        positive = ("perturb_radius", "max_distance", "sigma", "learning_rate")
        check_numbers(self, "a number > 0", positive, lambda value: 0 < value < np.inf)
        others = ("delta_plus", "epsilon_op", "epsilon_pe", "tolerance")
        check_numbers(self, "a number >= 0", others, lambda value: 0 <= value < np.inf)
        check_counts(self, ("n_samples", "n_neighbors", "max_iterations"))
        check_choice(self, "stop_at_wall", (True, False))

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""
        slope = Slope.of(originals, targets, problem, box)
        spent = np.zeros(len(originals), dtype=np.intp)
        boundary, crossed = self._boundary(slope, spent)
        points = originals.copy()
        found = np.zeros(len(originals), dtype=bool)
        rows = np.flatnonzero(crossed)
        if rows.size:
            here = slope.take(rows)
            samples, wanted = self._samples(here, boundary[rows], [seeds[int(row)] for row in rows])
            reach = np.abs(boundary[rows]).sum(axis=1) + self.delta_plus
            moves = self._minimise(here, boundary[rows], reach, self._odds(here, samples, wanted, reach))
            tried = here.points(moves)
            found[rows] = (here.margins(tried) > 0) & here.keeps_rules(tried)
            spent[rows] += self.n_samples + 1
            points[found] = tried[found[rows]]
        reasons = [
            "" if good else _LEFT if met else _NO_BOUNDARY if slides.any() else NOTHING_MOVES
            for good, met, slides in zip(found, crossed, slope.slides, strict=True)
        ]
        return Explained(points, found, reasons, spent)

    def _boundary(self, slope: Slope, spent: IntArray) -> tuple[FloatArray, BoolArray]:
        """Give the moves to the boundary, shape (n, d), and say which rows have one."""
        best = np.zeros(slope.originals.shape)
        length = np.full(len(slope), np.inf)
        ends, exists = _nearest_of_target(slope, self.n_neighbors)
        shares = np.arange(1, _STEPS + 1)[:, None] / _STEPS
        for rank in range(self.n_neighbors):
            rows = np.flatnonzero(exists[:, rank] & slope.slides.any(axis=1))
            if not rows.size:
                continue
            way = slope.clip(ends[:, rank])[rows]
            along = slope.take(np.repeat(rows, _STEPS))
            points = along.points(np.repeat(way, _STEPS, axis=0) * np.tile(shares, (len(rows), 1)))
            inside = (along.margins(points) > 0) & along.keeps_rules(points)
            spent[rows] += _STEPS
            inside = inside.reshape(len(rows), _STEPS)
            first = along.moves(points).reshape(len(rows), _STEPS, -1)[np.arange(len(rows)), inside.argmax(axis=1)]
            closer = inside.any(axis=1) & (np.abs(first).sum(axis=1) < length[rows])
            best[rows[closer]] = first[closer]
            length[rows[closer]] = np.abs(first[closer]).sum(axis=1)
        return best, np.isfinite(length)

    def _samples(self, slope: Slope, centers: FloatArray, seeds: Sequence[int]) -> tuple[FloatArray, BoolArray]:
        """Draw moves from the ball around each boundary point, shape (n, samples, d), and label them, (n, samples)."""
        n, d = centers.shape
        radius = self.perturb_radius * self.max_distance
        draws = np.zeros((n, self.n_samples, d))
        for row, seed in enumerate(seeds):
            free = slope.slides[row]
            draws[row][:, free] = _ball(generator(seed, "rbr"), self.n_samples, int(free.sum())) * radius
        around = slope.take(np.repeat(np.arange(n), self.n_samples))
        points = around.points(around.clip((centers[:, None] + draws).reshape(-1, d)))
        wanted = around.margins(points) > 0
        return around.moves(points).reshape(draws.shape), wanted.reshape(n, self.n_samples)

    def _odds(self, slope: Slope, samples: FloatArray, wanted: BoolArray, reach: FloatArray) -> Odds:
        # No sample is farther from a point in the ball than this.
        farthest = reach + np.abs(samples).sum(axis=2).max(axis=1)
        dimensions = slope.slides.sum(axis=1)
        return Odds.of(samples, wanted, dimensions, farthest, self.sigma, self.epsilon_op, self.epsilon_pe)

    def _minimise(self, slope: Slope, start: FloatArray, reach: FloatArray, odds: Odds) -> FloatArray:
        """Descend from the boundary within the ball and the box."""
        moves = start.copy()
        rows = np.arange(len(moves))
        best, idle = np.full(len(moves), np.inf), np.zeros(len(moves), dtype=np.intp)
        here = odds
        for _ in range(self.max_iterations):
            value, gradient = here.value_and_gradient(moves[rows])
            idle[rows] = np.where(best[rows] - value > self.tolerance, 0, idle[rows] + 1)
            best[rows] = np.minimum(best[rows], value)
            going = idle[rows] < _PATIENCE
            if self.stop_at_wall:
                going &= np.abs(moves[rows]).sum(axis=1) < reach[rows] - CLOSE
            if not going.all():
                rows, gradient, here = rows[going], gradient[going], here.take(np.flatnonzero(going))
                if not rows.size:
                    break
            stepped = moves[rows] - self.learning_rate * gradient
            moves[rows] = np.clip(onto_l1_ball(stepped, reach[rows]), slope.low[rows], slope.high[rows])
        return moves


def onto_l1_ball(moves: FloatArray, radius: FloatArray) -> FloatArray:
    """Move each row to the nearest point of the L1 ball around zero.

    Parameters
    ----------
    moves : array of shape (n, d)
    radius : array of shape (n,)

    Examples
    --------
    >>> onto_l1_ball(np.array([[3.0, -1.0], [0.2, 0.3]]), np.array([2.0, 1.0]))
    array([[ 2. , -0. ],
           [ 0.2,  0.3]])
    """
    size = np.abs(moves)
    ordered = -np.sort(-size, axis=1)
    # Cutting the same amount off the largest values, the cut is right where the next one would not be cut.
    cuts = (np.cumsum(ordered, axis=1) - radius[:, None]) / np.arange(1, moves.shape[1] + 1)
    last = np.maximum((ordered > cuts).sum(axis=1) - 1, 0)
    cut = np.maximum(cuts[np.arange(len(moves)), last], 0)[:, None]
    return np.asarray(np.sign(moves) * np.maximum(size - cut, 0))


def _ball(rng: np.random.Generator, n: int, dimensions: int) -> FloatArray:
    """Draw points of the unit ball, uniformly, shape (n, dimensions)."""
    normals = rng.standard_normal((n, dimensions))
    normals /= np.sqrt(np.square(normals).sum(axis=1, keepdims=True))
    return np.asarray(normals * rng.random((n, 1)) ** (1 / dimensions))


def _nearest_of_target(slope: Slope, n_neighbors: int) -> tuple[FloatArray, BoolArray]:
    """Give the moves to the nearest training rows of the target class, shape (n, k, d), and which exist, (n, k)."""
    problem, (n, d) = slope.problem, slope.originals.shape
    ends, exists = np.zeros((n, n_neighbors, d)), np.zeros((n, n_neighbors), dtype=bool)
    for target in np.unique(slope.targets, axis=0):
        inside = problem.is_target(problem.X_train, np.tile(target, (len(problem.X_train), 1)))
        there = problem.X_train[inside]
        for row in np.flatnonzero((slope.targets == target).all(axis=1)):
            distance = problem.features.distance(there, slope.originals[row])
            near = there[np.argsort(distance, kind="stable")[:n_neighbors]]
            gap = (near - slope.originals[row]) / slope.scale
            ends[row, : len(near)] = np.where(slope.slides[row] & ~np.isnan(gap), gap, 0.0)
            exists[row, : len(near)] = True
    return ends, exists
