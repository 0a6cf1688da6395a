"""T-Rex: move a counterfactual to where a network's answer is stable (Hamman et al., 2023)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_whole, is_number
from betarce.errors import InvalidInput
from betarce.explainers.neighbourhood import Criterion, StabilityTest
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import check_explainer, register
from betarce.explainers.walking import LineSearch, Walk, base_points, move_until_stable
from betarce.features import Box

_GRADIENT_SAMPLES = 100
_FLAT = 1e-12  # the least slope of a probability, so that a saturated one still says where to go


@register("trex")
@dataclass(frozen=True)
class TRex:
    """Climb to stability by small steps, or walk to stable training rows where there is no slope to climb.

    Parameters
    ----------
    base : str, explainer, callable or None
        What makes the base counterfactuals; None starts from the originals.
    tau : float
        The least stability.
    variance : float
        Of the Gaussian neighbours, in units of the features' ranges.
    n_samples : int
        Neighbours of a point, k in the publication.
    ascent_step : float
        Length of one step uphill, in units of the features' ranges.
    max_ascent_steps : int
        Steps uphill, at most; 0 walks to training rows at once.
    n_neighbors, step, max_steps, line_search
        Of the walk to stable training rows; see `RobX`.

    Notes
    -----
    Promises a point of the target class whose stability::

        R(x) = mean(p(x_i) - |p(x) - p(x_i)|),  x_i ~ N(x, variance),  i = 1 ... n_samples,

    is at least `tau`, with p the probability of the target: the relaxation of the authors' measure that needs no
    Lipschitz constant. High stability bounds the probability that a naturally-occurring model change undoes the
    counterfactual, as far as its assumptions hold; nothing is certified for a given way of retraining.

    Where the model has gradients (linear models, networks), the gradient of R over 100 neighbours is followed by steps
    of one length (T-Rex:I). The length is fixed since a probability that is almost 1 has next to no slope. Rows that do
    not arrive, and all rows of other models, walk to the nearest stable training rows (T-Rex:NN takes such a row
    itself; here the walk ends as soon as it passes).

    References
    ----------
    Hamman, Noorani, Mishra, Magazzeni, Dutta: Robust counterfactual explanations for neural networks with
    probabilistic guarantees. ICML 2023.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> from betarce.features import FeatureSpace
    >>> X, y = np.linspace(0, 1, 51)[:, None], np.repeat([0, 1], [26, 25])
    >>> model = LogisticRegression(C=100).fit(X, y)
    >>> features = FeatureSpace.infer(X)
    >>> problem = Problem(Ensemble([model], [0, 1]), features, X, y)
    >>> originals, targets = np.array([[0.3]]), np.array([[False, True]])
    >>> TRex(tau=0.8).explain(originals, targets, problem, features.box(originals), seeds=[0]).points.round(1)
    array([[0.7]])
    """

    base: Any = "growing-spheres"
    tau: float = 0.5
    variance: float = 0.01
    n_samples: int = 1000
    ascent_step: float = 0.01
    max_ascent_steps: int = 100
    n_neighbors: int = 3
    step: float = 0.1
    max_steps: int = 50
    line_search: LineSearch = "bisection"

    def __post_init__(self) -> None:
        check_explainer(self.base)
        if not is_number(self.ascent_step) or not 0 < self.ascent_step < np.inf:
            raise InvalidInput(f"`ascent_step` must be a number > 0; got {self.ascent_step!r}.")
        check_whole("max_ascent_steps", self.max_ascent_steps, least=0)
        _ = self.criterion, self.walk

    @property
    def criterion(self) -> Criterion:
        return Criterion("trex", self.tau, self.variance, self.n_samples)

    @property
    def walk(self) -> Walk:
        return Walk(self.n_neighbors, self.step, self.max_steps, self.line_search)

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a stable counterfactual for each row."""
        based = base_points(self.base, originals, targets, problem, box, seeds)
        climbs = problem.model.has_slopes and self.max_ascent_steps > 0
        return move_until_stable(
            based,
            originals,
            targets,
            problem,
            box,
            seeds,
            criterion=self.criterion,
            walk=self.walk,
            refine=self._climb if climbs else None,
        )

    def _climb(self, starts: FloatArray, rows: IntArray, test: StabilityTest) -> tuple[FloatArray, BoolArray]:
        """Follow the gradient of R from each start until the test is passed."""
        features, box = test.problem.features, test.box
        assert box is not None
        walls = box.take(rows)
        # Steps shorter than a whole number would be lost to rounding: what moves is a point that is never handed out.
        hidden, points = starts.copy(), starts.copy()
        found, climbing = np.zeros(len(starts), dtype=bool), np.ones(len(starts), dtype=bool)
        slides = walls.free & ~features.is_nominal
        for _ in range(self.max_ascent_steps):
            left = np.flatnonzero(climbing)
            if not left.size:
                break
            uphill = stability_gradient(hidden[left], rows[left], test) * features.scale * slides[left]
            length = np.linalg.norm(uphill, axis=1, keepdims=True)
            climbing[left[length[:, 0] == 0]] = False
            moved = hidden[left] + self.ascent_step * features.scale * uphill / np.maximum(length, 1e-300)
            hidden[left] = np.clip(moved, walls.lower[left], walls.upper[left])
            tried = features.project(hidden[left], walls.take(left))
            good = test.passes(tried, rows[left])
            points[left[good]], found[left[good]], climbing[left[good]] = tried[good], True, False
        return points, found


def stability_gradient(points: FloatArray, rows: IntArray, test: StabilityTest) -> FloatArray:
    """Give the gradient of R over some neighbours, shape (m, d)."""
    n = min(_GRADIENT_SAMPLES, test.criterion.n_samples)
    own, near, _ = test.probabilities(points, rows, 0, n)
    side = np.sign(own[:, None] - near)
    weights = np.concatenate([-side.mean(axis=1, keepdims=True), (1 + side) / n], axis=1)
    p = np.concatenate([own[:, None], near], axis=1)
    weights *= np.maximum(p * (1 - p), _FLAT)
    m, d = points.shape
    cloud = test.around(points, rows, 0, n).reshape(-1, d)
    slopes = test.problem.model.slopes(cloud, np.repeat(test.targets[rows], 1 + n, axis=0), weights.reshape(-1, 1))
    return np.asarray(np.nan_to_num(slopes.reshape(m, 1 + n, d).sum(axis=1)))
