"""Counterfactuals by gradient descent on the model's loss plus a distance (Wachter et al., 2017)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.explainers.descent import (
    NOTHING_MOVES,
    Adam,
    Slope,
    check_choice,
    check_counts,
    check_numbers,
    shrink,
)
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.features import Box, Norm

_SETTLED = 1e-3  # of the learning rate: a row that moves less is at rest
_PATIENCE = 5  # steps at rest before a row has arrived; on its way back it rests for one


@register("wachter")
@dataclass(frozen=True)
class Wachter:
    """Descend from the original to the closest point that the model gives a wanted probability.

    Parameters
    ----------
    target_probability : float
        How sure the model shall be of the target, in (0, 1); 0.5 is its decision boundary.
    loss : {"hinge", "squared", "log"}
        What is paid for a probability that is too low: the missing log-odds, their square, or the cross-entropy.
    norm : {"l1", "l2"}
        The distance that is kept small.
    scaling : {"range", "mad"}
        One unit of distance along a column: its training range, or the median absolute deviation, as published. Where
        more than half of the values are the same, the deviation is 0 and the range counts.
    initial_weight : float
        Weight of the distance at first, lambda in the paper's dual form.
    weight_decay : float
        By what it is multiplied as long as the target is out of reach, in (0, 1).
    max_rounds : int
        How many weights are tried.
    learning_rate : float
        Length of the first steps, in units of distance; it falls to 0 within a round.
    max_iterations : int
        Steps with each weight.
    aim : float
        Log-odds beyond the target that the loss aims at, so that the target is reached and not only approached.
    step : float
        For models without gradients: how far to either side differences are taken, in units of the features' ranges.
        Trees are flat between their splits, so this must be wide enough to cross some.

    Notes
    -----
    Minimises `loss(margin) + weight * distance` over the numbers that may change; names and missing values stay as
    they are. The weight starts at `initial_weight` and falls until the target is reached. Of all points on the way
    that reach it, moved to allowed values and scored by the model, the closest is handed out.

    Promises a point with at least `target_probability` where one is met, and nothing about robustness. Rows whose
    margin answers to no change within `step` say so: the method cannot move there.

    References
    ----------
    S. Wachter, B. Mittelstadt, C. Russell: Counterfactual explanations without opening the black box. Harvard Journal
    of Law & Technology 31 (2), 2018.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> y = (X @ [3, 4] > 3.5).astype(int)
    >>> from betarce.features import FeatureSpace
    >>> features = FeatureSpace.infer(X)
    >>> problem = Problem(Ensemble([LogisticRegression(C=100).fit(X, y)], [0, 1]), features, X, y)
    >>> originals = np.array([[0.2, 0.2]])
    >>> target = np.array([[False, True]])
    >>> method = Wachter(norm="l2")
    >>> result = method.explain(originals, target, problem, features.box(originals), seeds=[0])
    >>> result.found, (result.points - originals).round(1)
    (array([ True]), array([[0.3, 0.4]]))
    """

    target_probability: float = 0.5
    loss: Literal["hinge", "squared", "log"] = "hinge"
    norm: Norm = "l1"
    scaling: Literal["range", "mad"] = "range"
    initial_weight: float = 1.0
    weight_decay: float = 0.3
    max_rounds: int = 6
    learning_rate: float = 0.05
    max_iterations: int = 150
    aim: float = 0.02
    step: float = 0.1

    def __post_init__(self) -> None:
        positive = ("initial_weight", "learning_rate", "aim", "step")
        check_numbers(self, "a number > 0", positive, lambda value: 0 < value < np.inf)
        inside = ("target_probability", "weight_decay")
        check_numbers(self, "a number in (0, 1)", inside, lambda value: 0 < value < 1)
        check_counts(self, ("max_rounds", "max_iterations"))
        check_choice(self, "loss", ("hinge", "squared", "log"))
        check_choice(self, "norm", ("l1", "l2"))
        check_choice(self, "scaling", ("range", "mad"))

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""
        state = _State(Slope.of(originals, targets, problem, box, self._scale(problem)), self.norm)
        for lap in range(self.max_rounds):
            rows = np.flatnonzero(~state.found & ~state.stuck)
            if rows.size:
                self._descend(state, rows, self.initial_weight * self.weight_decay**lap)
        reasons = [
            "" if found else NOTHING_MOVES if not slides.any() else self._flat if stuck else self._too_far
            for found, stuck, slides in zip(state.found, state.stuck, state.slope.slides, strict=True)
        ]
        return Explained(state.best, state.found, reasons, state.spent)

    def _scale(self, problem: Problem) -> FloatArray:
        """Give the length of one unit of distance along each column, shape (d,)."""
        ranges = problem.features.scale
        if self.scaling == "range":
            return ranges
        deviations = np.array([_deviation(column) for column in problem.X_train.T])
        return np.where(deviations > 0, deviations, ranges)

    def _descend(self, state: "_State", rows: IntArray, weight: float) -> None:
        """Go down with one weight of the distance; a row that has arrived stops, and leaves the others alone."""
        adam, idle = Adam(state.moves.shape), np.zeros(len(state.moves), dtype=np.intp)
        for turn in range(self.max_iterations):
            slope = state.slope.take(rows)
            gradient = self._gradient(state, slope, rows)
            if turn == 0:
                rows, slope, gradient = state.drop_stuck(rows, slope, gradient)
            rate = self.learning_rate * (1 - turn / self.max_iterations)
            step, pace = adam.step(gradient, rate, rows)
            before = state.moves[rows]
            state.moves[rows] = slope.clip(shrink(before + step, pace * weight, self.norm))
            rests = np.abs(state.moves[rows] - before).max(axis=1) <= _SETTLED * rate
            idle[rows] = np.where(rests, idle[rows] + 1, 0)
            rows = rows[idle[rows] < _PATIENCE]
            if not rows.size:
                return
        state.look(state.slope.take(rows), rows, self._goal)

    def _gradient(self, state: "_State", slope: Slope, rows: IntArray) -> FloatArray:
        """Give the gradient of the loss where rows are now, shape (rows, d); NaN nowhere."""
        pull = self._pull(state.look(slope, rows, self._goal))
        gradient = np.zeros(slope.originals.shape)
        paying = np.flatnonzero(pull)
        if paying.size:
            slopes, spent = slope.take(paying).gradient(state.moves[rows[paying]], self.step)
            gradient[paying] = pull[paying, None] * slopes
            state.spent[rows[paying]] += spent
        return gradient

    @property
    def _goal(self) -> float:
        return float(logit(self.target_probability))

    def _pull(self, margins: FloatArray) -> FloatArray:
        """Give the derivative of the loss by the margin."""
        aim = self._goal + self.aim
        match self.loss:
            case "hinge":
                return np.where(margins < aim, -1.0, 0.0)
            case "squared":
                return np.asarray(2 * (margins - aim))
            case _:
                return np.asarray(expit(margins) - expit(aim))

    @property
    def _flat(self) -> str:
        return (
            "The model's margin is flat where the descent stands, so that there is no gradient to follow. Widen `step` "
            f"(now {self.step:g}), or take a method that needs no gradient, such as 'growing-spheres'."
        )

    @property
    def _too_far(self) -> str:
        return (
            f"No point with probability {self.target_probability:g} of the target class was met in {self.max_rounds} "
            f"rounds of {self.max_iterations} steps. Raise `max_rounds` or `max_iterations`, or loosen `features`."
        )


def _deviation(column: FloatArray) -> float:
    known = column[~np.isnan(column)]
    return float(np.median(np.abs(known - np.median(known)))) if known.size else 0.0


class _State:
    """Where the descent stands in each row, and the closest point met that reaches the target."""

    def __init__(self, slope: Slope, norm: Norm) -> None:
        n = len(slope)
        self.slope = slope
        self.moves = slope.clip(np.zeros(slope.originals.shape))
        self.best = slope.originals.copy()
        self.found: BoolArray = np.zeros(n, dtype=bool)
        self.stuck: BoolArray = np.zeros(n, dtype=bool)
        self.spent: IntArray = np.zeros(n, dtype=np.intp)
        self._norm = norm
        self._length = np.full(n, np.inf)

    def look(self, slope: Slope, rows: IntArray, goal: float) -> FloatArray:
        """Ask the model about the allowed points where rows are now, shape (rows,), and keep the best of them."""
        points = slope.points(self.moves[rows])
        margins = slope.margins(points)
        self.spent[rows] += 1
        moves = slope.moves(points)
        length = np.abs(moves).sum(axis=1) if self._norm == "l1" else np.sqrt(np.square(moves).sum(axis=1))
        better = (margins > 0) & (margins >= goal) & (length < self._length[rows]) & slope.keeps_rules(points)
        self.best[rows[better]] = points[better]
        self._length[rows[better]] = length[better]
        self.found[rows[better]] = True
        return margins

    def drop_stuck(self, rows: IntArray, slope: Slope, gradient: FloatArray) -> tuple[IntArray, Slope, FloatArray]:
        """Leave rows out that have nowhere to go: a gradient of zero stays zero, whatever the weight."""
        goes = gradient.any(axis=1) | self.found[rows]
        self.stuck[rows[~goes]] = True
        return rows[goes], slope.take(np.flatnonzero(goes)), gradient[goes]
