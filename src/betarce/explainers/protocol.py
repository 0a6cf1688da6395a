"""What every method that makes counterfactuals has in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble import Ensemble
from betarce.features import Box, FeatureSpace
from betarce.targets import named


@dataclass(frozen=True, eq=False)
class Problem:
    """All that an explainer may know.

    Attributes
    ----------
    model : Ensemble
        The explained model alone, ready for batches.
    features : FeatureSpace
        The columns.
    X_train : array of shape (n, d)
        Training rows as points.
    y_train : array of shape (n,)
        Their labels.
    """

    model: Ensemble
    features: FeatureSpace
    X_train: FloatArray
    y_train: AnyArray

    def is_target(self, points: FloatArray, targets: AnyArray) -> BoolArray:
        """Say which points the model puts in their target class."""
        return self.model.reaches(points, targets, 1)


@dataclass(frozen=True, eq=False)
class Explained:
    """Base counterfactuals for a batch of rows.

    Attributes
    ----------
    points : array of shape (n, d)
        The counterfactual, or the original where there is none.
    found : array of bool, shape (n,)
        Whether there is one.
    reasons : list of str
        Why not; "" where there is one.
    n_evaluations : array of int, shape (n,)
        Model evaluations spent.
    bases : array of shape (n, d) or None
        What a method that improves other counterfactuals started from.
    """

    points: FloatArray
    found: BoolArray
    reasons: list[str]
    n_evaluations: IntArray
    bases: FloatArray | None = None


class Explainer(Protocol):
    """A method that makes counterfactuals."""

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row; a row that has none says why and leaves the others alone."""


@dataclass(frozen=True)
class FromCallable:
    """Any function `(x, model, target) -> point`, from any library.

    Parameters
    ----------
    function : callable
        Gets one row in the user's own form (a Series for pandas, a dict for polars, else a flat array), the model and
        the target class (a list where several are accepted); returns the counterfactual in the same form.
    """

    function: Callable[[Any, Any, Any], Any]

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Call the function once a row."""
        points = originals.copy()
        reasons = []
        for i, target in enumerate(targets):
            label = named(target, problem.model.classes)
            try:
                answer = self.function(problem.features.row(originals[i]), problem.model.models[0], label)
                points[i] = problem.features.encode(answer, what="the base method's point")[0]
                reasons.append("")
            except Exception as error:  # noqa: BLE001 - foreign code may fail in any way; the row says how
                reasons.append(f"The base method failed: {type(error).__name__}: {error}")
        found = np.array([not reason for reason in reasons])
        return Explained(points, found, reasons, found.astype(np.intp))
