"""Counterfactuals for the worst of all nearby linear models: ROAR (Upadhyay et al., 2021)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.explainers.descent import NOTHING_MOVES, Adam, Slope, check_choice, check_counts, check_numbers, shrink
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.features import Box, Norm
from betarce.seeding import generator

_PROBES = 8  # training rows at which slopes are compared: equal at all of them, they are those of a linear model
_SAME = 1e-9  # relative: what counts as equal
_TOGETHER = 16  # rows whose samples are evaluated in one batch
_RIDGE = 1.0  # penalty of the surrogate, on standardised columns
_FLAT = 0.25  # of a range: spread of samples along a column that is constant in training


@register("roar")
@dataclass(frozen=True)
class Roar:
    """Minimise the loss under the worst shift of a linear model's weights, plus a distance.

    Parameters
    ----------
    delta_max : float
        Radius of the ball of weight shifts, intercept included, for columns scaled to [0, 1].
    ball : {1, 2, inf}
        Norm of that ball. The authors' program solves the problem for inf: every weight shifts by up to `delta_max`.
    norm : {"l1", "l2"}
        The distance to the original that is kept small.
    cost_weight : float
        Weight of the distance, lambda in the paper.
    weight_decay : float
        By what it is multiplied for another try where the model itself refuses the point, in (0, 1).
    max_retries : int
        How many such tries there are.
    learning_rate : float
        Length of a step, in units of the features' ranges.
    max_iterations : int
        Steps of each try.
    tolerance : float
        A row whose loss changes by less in one step has arrived.
    n_samples : int
        Points drawn around the original to fit the local linear model.
    kernel_width : float, optional
        How fast their weights fall with the distance, in standard deviations of the training data; by default
        0.75 times the root of the number of columns that move.

    Notes
    -----
    With margin `w x + b` on columns scaled to [0, 1], the worst shift of `(w, b)` in a ball of radius `delta_max`
    lowers the margin by `delta_max * ||(x, 1)||`, in the dual norm of the ball's. So the inner maximum of the loss is
    `log(1 + exp(-(w x + b) + delta_max * ||(x, 1)||))`, and no inner search is needed.

    A linear model gives its own weights. For any other model, `w` and `b` come from a weighted ridge regression of its
    log-odds on Gaussian samples around the original. Names and missing values stay as they are.

    Promises robustness to shifts of the *linear* model only. The point is moved to allowed values and scored by the
    model itself; where that refuses it, and does so for every weight tried, the row says so.

    References
    ----------
    S. Upadhyay, S. Joshi, H. Lakkaraju: Towards robust and reliable algorithmic recourse. NeurIPS 2021.

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
    >>> moved(Roar(delta_max=1.0)) > moved(Roar(delta_max=0.0))
    True
    """

    delta_max: float = 0.1
    ball: float = np.inf
    norm: Norm = "l1"
    cost_weight: float = 0.1
    weight_decay: float = 0.3
    max_retries: int = 5
    learning_rate: float = 0.05
    max_iterations: int = 500
    tolerance: float = 1e-5
    n_samples: int = 500
    kernel_width: float | None = None

    def __post_init__(self) -> None:
        check_numbers(self, "a number >= 0", ("delta_max", "tolerance"), lambda value: 0 <= value < np.inf)
        positive = ("cost_weight", "learning_rate", *(["kernel_width"] if self.kernel_width is not None else []))
        check_numbers(self, "a number > 0", positive, lambda value: 0 < value < np.inf)
        check_numbers(self, "a number in (0, 1)", ("weight_decay",), lambda value: 0 < value < 1)
        check_counts(self, ("max_iterations", "n_samples"))
        check_counts(self, ("max_retries",), least=0)
        check_choice(self, "ball", (1, 2, np.inf))
        check_choice(self, "norm", ("l1", "l2"))

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""
        slope = Slope.of(originals, targets, problem, box)
        found = np.zeros(len(originals), dtype=bool)
        line, spent = self.line(slope, seeds)
        points = originals.copy()
        rows = np.flatnonzero(slope.slides.any(axis=1))
        for attempt in range(self.max_retries + 1):
            if not rows.size:
                break
            here = slope.take(rows)
            moves = self._minimise(here, line.take(rows), self.cost_weight * self.weight_decay**attempt)
            tried = here.points(moves)
            valid = (here.margins(tried) > 0) & here.keeps_rules(tried)
            spent[rows] += 1
            points[rows[valid]] = tried[valid]
            found[rows[valid]] = True
            rows = rows[~valid]
        refused = self._refused(line)
        reasons = [
            "" if good else refused[row] if slides.any() else NOTHING_MOVES
            for row, (good, slides) in enumerate(zip(found, slope.slides, strict=True))
        ]
        return Explained(points, found, reasons, spent)

    def _refused(self, line: "Line") -> list[str]:
        least = self.cost_weight * self.weight_decay**self.max_retries
        kinds = {True: "linear", False: "local linear"}
        return [
            f"The model itself refuses the points of its {kinds[bool(exact)]} picture, for every cost weight from "
            f"{self.cost_weight:g} down to {least:.2g}. Lower `delta_max`, raise `n_samples` or `max_retries`."
            for exact in line.exact
        ]

    def line(self, slope: Slope, seeds: Sequence[int]) -> tuple["Line", IntArray]:
        """Give each row its linear model, and the evaluations that it took."""
        features = slope.problem.features
        known = ~features.is_nominal & ~np.isnan(slope.originals)
        lower = np.array([column.lower for column in features.columns])
        start = np.where(known, (slope.originals - lower) / features.scale, 0.0)
        weights, margins, exact = _own_weights(slope)
        spent = np.full(len(slope), _PROBES + 2 if slope.problem.model.has_slopes else 0)
        guessed = np.flatnonzero(~exact & slope.slides.any(axis=1))
        spent[guessed] += self.n_samples
        spread = _spread(slope)
        for first in range(0, len(guessed), _TOGETHER):
            rows = guessed[first : first + _TOGETHER]
            weights[rows], margins[rows] = self._fit(slope.take(rows), spread, [seeds[int(row)] for row in rows])
        return Line(weights, margins, start, exact, self.delta_max, self.ball), spent

    def _fit(self, slope: Slope, spread: FloatArray, seeds: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Fit the log-odds around each row: weights of shape (n, d), and the margin at the original, shape (n,)."""
        n, d = slope.originals.shape
        around = slope.take(np.repeat(np.arange(n), self.n_samples))
        normals = np.concatenate([generator(seed, "roar").standard_normal((self.n_samples, d)) for seed in seeds])
        points = around.points(around.clip(normals * spread * around.slides))
        margins = around.margins(points).reshape(n, self.n_samples, 1)
        design = (around.moves(points) / spread).reshape(n, self.n_samples, d)
        width = self.kernel_width or 0.75 * np.sqrt(slope.slides.sum(axis=1))[:, None, None]
        shares = np.exp(-np.square(design).sum(axis=2, keepdims=True) / (2 * width**2))
        shares /= shares.sum(axis=1, keepdims=True)
        center, level = (shares * design).sum(axis=1, keepdims=True), (shares * margins).sum(axis=1, keepdims=True)
        weighted = (shares * (design - center)).swapaxes(1, 2)
        # Columns that do not move are zero throughout: the penalty alone keeps their weights at zero.
        scatter = np.matmul(weighted, design - center) + np.eye(d) * _RIDGE / self.n_samples
        slopes = np.linalg.solve(scatter, np.matmul(weighted, margins - level))[..., 0]
        return slopes / spread, level[:, 0, 0] - (center[:, 0] * slopes).sum(axis=1)

    def _minimise(self, slope: Slope, line: "Line", weight: float) -> FloatArray:
        """Give the moves that minimise the worst-case loss plus the weighted distance."""
        moves = slope.clip(np.zeros(slope.originals.shape))
        adam = Adam(moves.shape)
        rows = np.arange(len(moves))
        last = np.full(len(moves), np.inf)
        for _ in range(self.max_iterations):
            here, now = line.take(rows), moves[rows]
            worst = here.worst_margin(now)
            loss = np.logaddexp(0, -worst) + weight * _length(now, self.norm)
            going = np.abs(last[rows] - loss) > self.tolerance
            last[rows] = loss
            rows, here, now, worst = rows[going], here.take(np.flatnonzero(going)), now[going], worst[going]
            if not rows.size:
                break
            gradient = -expit(-worst)[:, None] * here.gradient(now)
            step, pace = adam.step(np.where(slope.slides[rows], gradient, 0.0), self.learning_rate, rows)
            moved = shrink(now + step, pace * weight, self.norm)
            moves[rows] = np.clip(moved, slope.low[rows], slope.high[rows])
        return moves


@dataclass(frozen=True, eq=False)
class Line:
    """A linear model for each row, on columns scaled to [0, 1], and the ball of its shifts.

    Attributes
    ----------
    weights : array of shape (n, d)
        Zero for columns that do not move.
    margin : array of shape (n,)
        Its margin at the original.
    start : array of shape (n, d)
        The original, scaled; zero for names and missing values.
    exact : array of bool, shape (n,)
        Whether these are the model's own weights.
    radius : float
    ball : {1, 2, inf}
    """

    weights: FloatArray
    margin: FloatArray
    start: FloatArray
    exact: BoolArray
    radius: float
    ball: float

    def take(self, rows: IntArray) -> "Line":
        """Pick some rows."""
        return Line(self.weights[rows], self.margin[rows], self.start[rows], self.exact[rows], self.radius, self.ball)

    def worst_margin(self, moves: FloatArray) -> FloatArray:
        """Give the lowest margin of any shifted model after moves, shape (n,)."""
        size = np.abs(self.start + moves)
        if self.ball == 1:
            dual = np.maximum(size.max(axis=1), 1.0)
        elif self.ball == 2:
            dual = np.sqrt(np.square(size).sum(axis=1) + 1)
        else:
            dual = size.sum(axis=1) + 1
        return np.asarray(self.margin + (self.weights * moves).sum(axis=1) - self.radius * dual)

    def gradient(self, moves: FloatArray) -> FloatArray:
        """Give the gradient of `worst_margin`, shape (n, d)."""
        place = self.start + moves
        if self.ball == 1:
            largest = np.abs(place) == np.maximum(np.abs(place).max(axis=1, keepdims=True), 1.0)
            first = largest & (np.cumsum(largest, axis=1) == 1)
            dual = np.where(first, np.sign(place), 0.0)
        elif self.ball == 2:
            dual = place / np.sqrt(np.square(place).sum(axis=1, keepdims=True) + 1)
        else:
            dual = np.sign(place)
        return np.asarray(self.weights - self.radius * dual)


def _own_weights(slope: Slope) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Give the model's weights, shape (n, d), and margins, shape (n,), and say in which rows it is linear."""
    none = np.zeros(slope.originals.shape)
    complete = slope.problem.X_train[~np.isnan(slope.problem.X_train).any(axis=1)]
    if not slope.problem.model.has_slopes or not len(complete):
        return none, np.zeros(len(slope)), np.zeros(len(slope), dtype=bool)
    own, _ = slope.gradient(none, step=1.0)
    size = np.abs(own).max(axis=1)
    same = (size > 0) & ~np.isnan(slope.originals).any(axis=1)
    for probe in complete[np.linspace(0, len(complete) - 1, _PROBES).astype(np.intp)]:
        there, _ = replace(slope, originals=np.tile(probe, (len(slope), 1))).gradient(none, step=1.0)
        same &= (np.abs(there - own) <= _SAME * size[:, None]).all(axis=1)
    return np.where(same[:, None], own, 0.0), np.where(same, slope.margins(slope.originals), 0.0), same


def _spread(slope: Slope) -> FloatArray:
    """Give the standard deviation of each column in training, shape (d,), in units of distance."""
    columns = [column[~np.isnan(column)] for column in slope.problem.X_train.T]
    deviations = np.array([column.std() if column.size else 0.0 for column in columns])
    return np.where(deviations > 0, deviations / slope.scale, _FLAT)


def _length(moves: FloatArray, norm: Norm) -> FloatArray:
    return np.asarray(np.abs(moves).sum(axis=1) if norm == "l1" else np.sqrt(np.square(moves).sum(axis=1)))
