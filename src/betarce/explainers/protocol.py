"""What every method that makes counterfactuals has in common."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble import Ensemble
from betarce.features import Box, FeatureSpace
from betarce.targets import named

_Value = TypeVar("_Value")


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

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import Ensemble, FeatureSpace
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = Ensemble([LogisticRegression().fit(X, y)], [0, 1])
    >>> problem = Problem(model, FeatureSpace.infer(X), X, y)
    >>> problem.model.labels(np.array([[2.5]]))
    array([[1]])
    """

    model: Ensemble
    features: FeatureSpace
    X_train: FloatArray
    y_train: AnyArray
    _cache: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def cached(self, key: Hashable, compute: Callable[[], _Value]) -> _Value:
        """Give what is known of this problem under a key, computed when it is first asked for.

        Parameters
        ----------
        key : hashable
            What it is, with all that it depends on beside the problem, such as ("stable rows", criterion).
        compute : callable
            Gets no arguments and draws nothing at random: who asks first must not matter.
        """
        if key not in self._cache:
            self._cache[key] = compute()
        value: _Value = self._cache[key]
        return value

    def __reduce__(self) -> tuple[type["Problem"], tuple[Any, ...]]:
        """Leave what can be computed again behind."""
        return Problem, (self.model, self.features, self.X_train, self.y_train)

    def is_target(self, points: FloatArray, targets: AnyArray) -> BoolArray:
        """Say which points the model puts in their target class."""
        return self.model.agrees(points, targets)[:, 0]


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

    Examples
    --------
    >>> explained = Explained(
    ...     points=np.array([[2.0], [5.0]]),
    ...     found=np.array([True, False]),
    ...     reasons=["", "no way"],
    ...     n_evaluations=np.array([7, 9]),
    ... )
    >>> [reason for reason, found in zip(explained.reasons, explained.found) if not found]
    ['no way']
    """

    points: FloatArray
    found: BoolArray
    reasons: list[str]
    n_evaluations: IntArray
    bases: FloatArray | None = None


@runtime_checkable
class Explainer(Protocol):
    """A method that makes counterfactuals: any object with `explain`.

    Usually a frozen dataclass whose fields are its parameters: then grids and plans can set them by name
    (`betarce.parameters.with_parameters`), and equal explainers share what they cache on a problem. What an
    implementation must keep to is checked by `betarce.testing.check_explainer_contract`.
    """

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row; a row that has none says why and leaves the others alone.

        Parameters
        ----------
        originals : array of shape (n, d)
            The rows as points.
        targets : array of bool, shape (n, classes)
            The classes that each row accepts.
        problem : Problem
            The model, the columns and the training rows.
        box : Box
            Where each row's counterfactual may lie.
        seeds : sequence of int
            One per row, for whatever is drawn at random.
        """


@runtime_checkable
class NeedsLibrary(Explainer, Protocol):
    """An explainer of another library, which may not be installed."""

    def library(self) -> Any:
        """Import it.

        Raises
        ------
        MissingExtra
            If it is not there; the message says how to install it.
        """


@dataclass(frozen=True)
class FromCallable:
    """Any function `(x, model, target) -> point`, from any library.

    Parameters
    ----------
    function : callable
        Gets one row in the user's own form (a Series for pandas, a dict for polars, else a flat array), the model and
        the target class (a list where several are accepted); returns the counterfactual in the same form.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE, explainers
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> base = explainers.FromCallable(lambda x, model, target: x + [1.5, -1.0])
    >>> rce = BetaRCE(LogisticRegression(), base=base, delta=0.8, n_models=(6, 18), random_state=0).fit(X, y)
    >>> rce.explain(X[y == 0][:1], target=1)
    Result(1 rows: 1 certified)
    """

    function: Callable[[Any, Any, Any], Any]

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Call the function once per row."""
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
