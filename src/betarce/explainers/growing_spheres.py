"""Growing Spheres as a base method: the closest point of the other class in growing shells (Laugel et al., 2017)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.features import Box
from betarce.search import GrowingSpheresSearch, Task

_REASONS = {
    "found": "",
    "not-found": "No point of the target class was met in the whole allowed box. Loosen `features`.",
    "budget-spent": "No point of the target class was met within the evaluation budget. Raise `max_evaluations`.",
}


@register("growing-spheres")
@dataclass(frozen=True)
class GrowingSpheres:
    """Search shells around the original for the target class.

    Parameters
    ----------
    search : GrowingSpheresSearch
        Radius, number of candidates, budget, bounds.

    Notes
    -----
    Promises a point of the target class, close to the original. Says nothing about plausibility or robustness.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE, GrowingSpheresSearch, explainers
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> base = explainers.GrowingSpheres(GrowingSpheresSearch(n_candidates=200))
    >>> rce = BetaRCE(LogisticRegression(), base=base, delta=0.8, n_models=(6, 18), random_state=0).fit(X, y)
    >>> rce.explain(X[y == 0][:2], target=1)
    Result(2 rows: 2 certified)
    """

    search: GrowingSpheresSearch = field(default_factory=GrowingSpheresSearch)

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""

        def flips(points: FloatArray, rows: IntArray) -> BoolArray:
            return problem.is_target(points, targets[rows])

        result = self.search.find(Task(originals, problem.features, box, seeds), flips)
        reasons = [_REASONS[status] for status in result.status]
        points = np.where(result.found[:, None], result.points, originals)
        return Explained(points, result.found, reasons, result.n_evaluations)
