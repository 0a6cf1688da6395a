"""The nearest robust neighbour: the closest training row whose class many models agree on."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_flag, check_models, check_whole, is_number, is_one_of
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers.protocol import Explained, Problem
from betarce.explainers.registry import register
from betarce.explainers.training_rows import Trials, by_target, nearest
from betarce.features import Box, FeatureSpace, Norm

_STEPS = 20  # points looked at on each line
_HALVINGS = 8  # of the last step


@register("robust-nearest")
@dataclass(frozen=True, eq=False)
class RobustNearest:
    """Hand out the nearest training row of the target class that passes a test of robustness.

    Parameters
    ----------
    members : sequence of fitted models, optional
        Retrained models that vote on a point. Without them the explained model votes alone.
    share : float
        Share of the members that must vote for the target class; 1 for all.
    min_margin : float, optional
        Log-odds of the target class from which on a vote counts. 0 with members and 1 without them by default. Models
        that only give labels vote with log-odds of 1 or -1.
    optimal : bool
        Whether to go back from that row towards the original as far as the test still passes.
    n_candidates : int
        How many rows to try: one that fails the test as it is moved into the box makes way for the next.
    norm : {"l1", "l2"}
        What "nearest" means.

    Notes
    -----
    Promises a point of the target class that passes the test; whether it survives other retrained models is for a
    certificate to say. Draws nothing at random. Training rows are put to the test once for each problem and target, and
    are not counted as evaluations.

    The method of the reference, with another test: the paper proves that a network keeps the class of a point under
    all changes of its weights up to a size, here models vote or the margin decides, so that it works for every model.

    With `optimal`, two lines are searched: numbers move from the original towards the row under the original's names
    (and missing values), and under the row's.

    References
    ----------
    Jiang, Leofante, Rago & Toni (2024), "Interval abstractions for robust counterfactual explanations", Artificial
    Intelligence 336: RNCE.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.features import FeatureSpace
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> features = FeatureSpace.infer(X)
    >>> problem = Problem(Ensemble([LogisticRegression().fit(X, y)], [0, 1]), features, X, y)
    >>> original, wanted = np.array([[0.25]]), np.array([[False, True]])
    >>> RobustNearest().explain(original, wanted, problem, features.box(original), seeds=[0]).points
    array([[3.]])
    """

    members: Sequence[Any] | None = None
    share: float = 1.0
    min_margin: float | None = None
    optimal: bool = False
    n_candidates: int = 100
    norm: Norm = "l1"

    def __post_init__(self) -> None:
        if self.members is not None:
            check_models("members", getattr(self.members, "models", self.members))
        check_flag("optimal", self.optimal)
        if not is_number(self.share) or not 0 < self.share <= 1:
            raise InvalidInput(f"`share` must be in (0, 1]; got {self.share!r}.")
        if self.min_margin is not None and not (is_number(self.min_margin) and 0 <= self.min_margin < np.inf):
            raise InvalidInput(f"`min_margin` must be a number >= 0; got {self.min_margin!r}.")
        check_whole("n_candidates", self.n_candidates)
        if not is_one_of(self.norm, ("l1", "l2")):
            raise InvalidInput(f"`norm` must be 'l1' or 'l2'; got {self.norm!r}.")

    def explain(
        self, originals: FloatArray, targets: AnyArray, problem: Problem, box: Box, seeds: Sequence[int]
    ) -> Explained:
        """Find a counterfactual for each row."""
        test = self._test(problem)

        def passes(points: FloatArray, rows: IntArray) -> BoolArray:
            return test.passes(points, targets[rows])

        trials = Trials(originals, passes, problem, box)
        rows = trials.open
        eligible = np.zeros((len(rows), len(problem.X_train)), dtype=bool)
        for wanted, places in by_target(targets[rows]):
            eligible[places] = test.robust_rows(problem.X_train, wanted)
        order, _ = nearest(
            problem.features, originals[rows], problem.X_train, self.n_candidates, norm=self.norm, eligible=eligible
        )
        trials.offer(rows, order)
        if self.optimal:
            _WayBack(trials, rows[trials.found[rows]], originals, problem.features, box, self.norm).walk()
        reasons = [""] * len(originals)
        for row, tried in zip(rows, (order >= 0).sum(axis=1), strict=True):
            reasons[row] = _reason(int(tried))
        return trials.explained(reasons)

    def _test(self, problem: Problem) -> "_Test":
        def make() -> _Test:
            voters = problem.model
            if self.members is not None:
                voters = Ensemble(self.members, problem.model.classes, features=problem.features)
            least = self.min_margin if self.min_margin is not None else float(self.members is None)
            return _Test(problem.model, voters, ceil(self.share * len(voters) - 1e-9), least)

        return problem.cached(("robust rows", self), make)


class _WayBack:
    """The ways from the points of some rows back to their originals."""

    def __init__(
        self, trials: Trials, rows: IntArray, originals: FloatArray, features: FeatureSpace, box: Box, norm: Norm
    ) -> None:
        self._trials, self._rows, self._box = trials, rows, box
        self._features, self._norm = features, norm
        self._originals = originals[rows]
        self._ends = trials.points[rows].copy()

    def walk(self) -> None:
        """Replace each row's point by the closest one that passes on its ways."""
        start = self._trials.start[self._rows]
        for base in (start, _with_names(start, self._ends, self._features)):
            shares = np.arange(_STEPS) / _STEPS
            hits = self._look(base, np.tile(shares, (len(base), 1)))
            passing = np.where(hits.any(axis=1), shares[hits.argmax(axis=1)], 1)
            failing = np.maximum(passing - 1 / _STEPS, 0)
            for _ in range(_HALVINGS):
                middle = (passing + failing) / 2
                hit = self._look(base, middle[:, None])[:, 0]
                passing, failing = np.where(hit, middle, passing), np.where(hit, failing, middle)

    def _look(self, base: FloatArray, shares: FloatArray) -> BoolArray:
        """Test points that are `shares` of the way from `base`, shape (rows, k); each row keeps the closest."""
        n, k = shares.shape
        at = np.repeat(np.arange(n), k)
        owners = self._rows[at]
        points = self._features.blend(base[at], self._ends[at], shares.reshape(-1, 1))
        points = self._features.project(points, self._box.take(owners))
        hits = self._trials.passes(points, owners).reshape(n, k)
        self._trials.spent[self._rows] += k
        gaps = self._features.distance(points, self._originals[at], norm=self._norm).reshape(n, k)
        gaps = np.where(hits, gaps, np.inf)
        best = gaps.argmin(axis=1)
        now = self._features.distance(self._trials.points[self._rows], self._originals, norm=self._norm)
        closer = np.flatnonzero(gaps.min(axis=1) < now)
        self._trials.points[self._rows[closer]] = points[closer * k + best[closer]]
        return np.asarray(hits)


def _with_names(start: FloatArray, ends: FloatArray, features: FeatureSpace) -> FloatArray:
    """Give the start what cannot be gone towards in steps: names, and values that are missing on one side."""
    return np.where(features.is_nominal | np.isnan(start) | np.isnan(ends), ends, start)


def _reason(tried: int) -> str:
    if not tried:
        return "No training row of the target class passes the test. Lower `share` or `min_margin`."
    return (
        f"None of the {tried} nearest training rows that pass the test still does once moved into what is allowed. "
        "Raise `n_candidates`, lower `share` or `min_margin`, or loosen `features`."
    )


class _Test:
    """Do enough voters put points in their target class, with enough margin, the explained model among them?"""

    def __init__(self, model: Ensemble, voters: Ensemble, quorum: int, least: float) -> None:
        self._model, self._voters = model, voters
        self._quorum, self._least = quorum, least
        self._known: dict[bytes, BoolArray] = {}

    def passes(self, points: FloatArray, targets: AnyArray) -> BoolArray:
        passed = self._model.reaches(points, targets, 1)
        hopeful = np.flatnonzero(passed)
        if self._least == 0:
            passed[hopeful] = self._voters.reaches(points[hopeful], targets[hopeful], self._quorum)
        else:
            margins = self._voters.margins(points[hopeful], targets[hopeful])
            passed[hopeful] = (margins >= self._least).sum(axis=1) >= self._quorum
        return passed

    def robust_rows(self, rows: FloatArray, wanted: BoolArray) -> BoolArray:
        """Say which training rows pass for one set of accepted classes; asked once."""
        key = wanted.tobytes()
        if key not in self._known:
            self._known[key] = self.passes(rows, np.tile(wanted, (len(rows), 1)))
        return self._known[key]
