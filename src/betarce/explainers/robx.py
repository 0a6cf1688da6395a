"""RobX: move a counterfactual towards stable training rows until its neighbourhood is stable (Dutta et al., 2022)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from betarce.arrays import AnyArray, FloatArray
from betarce.explainers.neighbourhood import Criterion
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import check_explainer, register
from betarce.explainers.walking import LineSearch, Walk, base_points, move_until_stable
from betarce.features import Box


@register("robx")
@dataclass(frozen=True)
class RobX:
    """Walk from a base counterfactual to stable training rows, as far as stability asks for.

    Parameters
    ----------
    base : str, explainer, callable or None
        What makes the base counterfactuals; None starts from the originals.
    tau : float
        The least counterfactual stability. `betarce.explainers.stability_histogram` helps to choose it.
    variance : float
        Of the Gaussian neighbours, in units of the features' ranges.
    n_samples : int
        Neighbours of a point, N in the paper.
    n_neighbors : int
        Stable training rows walked to, the conservative counterfactuals.
    step : float
        Share of the way that is left, gone in each step; alpha in the publication.
    max_steps : int
        Steps; the last one arrives at the training row.
    line_search : {"bisection", "walk"}
        "walk" tries every step from the base on; "bisection" goes straight to where the test turns.

    Notes
    -----
    Promises a point of the target class whose counterfactual stability

        R(x) = mean p(x_i) - std p(x_i),  x_i ~ N(x, variance),  i = 1 ... n_samples,

    is at least `tau`, with p the probability of the target; a stable base is handed out as it is. Robustness follows
    as far as the model is calibrated and `tau` and `variance` suit the data: there is no guarantee about retraining.

    Conservative counterfactuals are the training rows nearest to the base that the model puts in the target class and
    that pass the test. Each step of each walk goes ``x <- step * row + (1 - step) * x``; of the points where the walks
    first pass, the one closest to the original is handed out. Rules are kept: points are moved to allowed values
    before they are tested, and a training row counts only if it still passes after that. Names change at the end of a
    walk only. Neighbours are explained at `betarce.explainers.stability`.

    All candidates of one row meet the same noise. On the way, 128 or 384 neighbours decide where they are three
    standard errors clear of `tau`; what is handed out has passed with all of them.

    References
    ----------
    Dutta, Long, Mishra, Tilli, Magazzeni: Robust counterfactual explanations for tree-based ensembles. ICML 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> from betarce.features import FeatureSpace
    >>> X, y = np.linspace(0, 1, 51)[:, None], np.repeat([0, 1], [26, 25])
    >>> model = LogisticRegression(C=100).fit(X, y)
    >>> features = FeatureSpace.infer(X)
    >>> problem = Problem(Ensemble([model], [0, 1]), features, X, y)
    >>> originals, targets = np.array([[0.3]]), np.array([[False, True]])
    >>> for tau in (0.5, 0.7, 0.9):
    ...     explained = RobX(tau=tau).explain(originals, targets, problem, features.box(originals), seeds=[0])
    ...     print(explained.points.round(1), explained.found)
    [[0.6]] [ True]
    [[0.7]] [ True]
    [[0.8]] [ True]
    """

    base: Any = "growing-spheres"
    tau: float = 0.5
    variance: float = 0.01
    n_samples: int = 1000
    n_neighbors: int = 3
    step: float = 0.1
    max_steps: int = 50
    line_search: LineSearch = "bisection"

    def __post_init__(self) -> None:
        check_explainer(self.base)
        _ = self.criterion, self.walk

    @property
    def criterion(self) -> Criterion:
        return Criterion("robx", self.tau, self.variance, self.n_samples)

    @property
    def walk(self) -> Walk:
        return Walk(self.n_neighbors, self.step, self.max_steps, self.line_search)

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a stable counterfactual for each row."""
        based = base_points(self.base, originals, targets, problem, box, seeds)
        return move_until_stable(
            based, originals, targets, problem, box, seeds, criterion=self.criterion, walk=self.walk
        )
