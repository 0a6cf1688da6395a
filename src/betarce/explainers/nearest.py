"""The nearest unlike neighbour: the closest training row of the target class."""

from collections.abc import Sequence
from dataclasses import dataclass

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_whole, is_one_of
from betarce.errors import InvalidInput
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.explainers.training_rows import Trials, nearest, predicted, recorded
from betarce.features import Box, Norm


@register("nearest")
@dataclass(frozen=True)
class NearestUnlike:
    """Hand out the nearest training row of the target class.

    Parameters
    ----------
    n_candidates : int
        How many rows to try: one that leaves the target class as it is moved into the box makes way for the next.
    true_label : bool
        Whether the row's own label must be accepted too, not just the model's.
    norm : {"l1", "l2"}
        What "nearest" means.

    Notes
    -----
    Promises a point of the target class that somebody in the training data was at, as far as the rules allow: values
    that the rules forbid are moved to the nearest allowed ones, and the model is asked again. An original that is in
    the target class already is returned as it is. Draws nothing at random. The model's labels of the training rows are
    asked once for each problem and not counted as evaluations.

    References
    ----------
    Keane & Smyth (2020), "Good counterfactuals and where to find them", call it the nearest unlike neighbour.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> from betarce.features import FeatureSpace
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> features = FeatureSpace.infer(X)
    >>> problem = Problem(Ensemble([LogisticRegression().fit(X, y)], [0, 1]), features, X, y)
    >>> original, wanted = np.array([[0.25]]), np.array([[False, True]])
    >>> NearestUnlike().explain(original, wanted, problem, features.box(original), seeds=[0]).points
    array([[2.]])
    """

    n_candidates: int = 100
    true_label: bool = False
    norm: Norm = "l1"

    def __post_init__(self) -> None:
        check_whole("n_candidates", self.n_candidates)
        if not is_one_of(self.norm, ("l1", "l2")):
            raise InvalidInput(f"`norm` must be 'l1' or 'l2'; got {self.norm!r}.")

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""

        def flips(points: FloatArray, rows: IntArray) -> BoolArray:
            return problem.is_target(points, targets[rows])

        trials = Trials(originals, flips, problem, box)
        rows = trials.open
        eligible = targets[rows][:, predicted(problem)]
        if self.true_label:
            eligible &= targets[rows][:, recorded(problem)]
        order, _ = nearest(
            problem.features, originals[rows], problem.X_train, self.n_candidates, norm=self.norm, eligible=eligible
        )
        trials.offer(rows, order)
        reasons = [""] * len(originals)
        for row, tried in zip(rows, (order >= 0).sum(axis=1), strict=True):
            reasons[row] = self._reason(int(tried))
        return trials.explained(reasons)

    def _reason(self, tried: int) -> str:
        if tried:
            return (
                f"None of the {tried} nearest training rows of the target class is still in it once moved into what is "
                "allowed. Raise `n_candidates`, or loosen `features`."
            )
        if self.true_label:
            return "No training row is of the target class both by the model and by its own label. Drop `true_label`."
        return "The model puts no training row in the target class."
