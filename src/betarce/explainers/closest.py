"""The closest plain counterfactual: what the model alone would have people do."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.explainers.training_rows import nearest, predicted
from betarce.features import Box
from betarce.search import FrontierSearch, Task
from betarce.search.protocol import Climber

_ANCHORS = 3  # nearest training rows of the target class, where climbing gets stuck
_CROSSING = np.array([0.0, -np.inf])  # the depth at which the model's answer turns


@register("closest")
@dataclass(frozen=True)
class Closest:
    """Climb from the original to the target class, and come as close again as the model allows.

    Parameters
    ----------
    search : FrontierSearch, or any search that can `climb`
        How; its norm and its price per changed feature say what "closest" means.

    Notes
    -----
    The search of BetaRCE itself, with the explained model in the place of the retrained members: the difference between
    its point and a certified one is the price of robustness. Says nothing about plausibility or robustness.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> from betarce.features import FeatureSpace
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> features = FeatureSpace.infer(X)
    >>> problem = Problem(Ensemble([LogisticRegression().fit(X, y)], [0, 1]), features, X, y)
    >>> original, wanted = np.array([[0.25]]), np.array([[False, True]])
    >>> Closest().explain(original, wanted, problem, features.box(original), seeds=[0]).points.round(1)
    array([[1.5]])
    """

    search: Climber = field(default_factory=FrontierSearch)

    def __post_init__(self) -> None:
        if not isinstance(self.search, Climber) or isinstance(self.search, type):
            raise InvalidInput(f"`search` must be one that climbs, such as FrontierSearch(); got {self.search!r}.")

    def explain(
        self, originals: FloatArray, targets: BoolArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""
        task = Task(originals, problem.features, box, seeds)
        anchors = _anchors(problem, originals, targets, box)
        ladders = self.search.climb(task, _Margin(problem, targets), anchors=anchors, levels=_CROSSING)
        found: BoolArray = np.asarray(ladders.exists.any(axis=1))
        # The last rung is the closest.
        last = ladders.exists.shape[1] - 1 - ladders.exists[:, ::-1].argmax(axis=1)
        points = np.where(found[:, None], ladders.points[np.arange(len(found)), last], originals)
        reasons = ["" if ok else _reason(bool(spent)) for ok, spent in zip(found, ladders.spent, strict=True)]
        return Explained(points, found, reasons, ladders.n_evaluations)


def _reason(spent: bool) -> str:
    if spent:
        return "No point of the target class was met within the evaluation budget. Raise `max_evaluations`."
    return "No point of the target class was met on the way to the nearest training rows. Loosen `features`."


@dataclass(frozen=True, eq=False)
class _Margin:
    """The explained model's own margin as a depth."""

    problem: Problem
    targets: BoolArray

    def __call__(self, points: FloatArray, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        margins = self.problem.model.margins(points, self.targets[rows])[:, 0]
        return margins, margins > 0

    def slopes(self, points: FloatArray, rows: IntArray) -> FloatArray | None:
        model = self.problem.model
        if not model.has_slopes:
            return None
        return model.slopes(points, self.targets[rows], np.ones((len(points), 1)))


def _anchors(problem: Problem, points: FloatArray, targets: BoolArray, box: Box) -> FloatArray:
    """Give the nearest training rows of each target, moved into the box; the point itself where there is none."""
    order, _ = nearest(
        problem.features, points, problem.X_train, _ANCHORS, norm="l1", eligible=targets[:, predicted(problem)]
    )
    rows, places = np.nonzero(order >= 0)
    anchors = np.repeat(points[:, None], _ANCHORS, axis=1)
    anchors[rows, places] = problem.features.project(problem.X_train[order[rows, places]], box.take(rows))
    return anchors
