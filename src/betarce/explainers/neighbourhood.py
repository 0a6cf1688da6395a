"""How stable a model's answer is around a point: measures over Gaussian neighbours, and the test made of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.checks import check_whole, is_number, is_one_of
from betarce.errors import InvalidInput
from betarce.explainers.protocol import Problem
from betarce.features import Box, FeatureSpace
from betarce.seeding import check_seed, generator
from betarce.targets import accepted

Measure = Literal["robx", "trex"]
Terms = Callable[[FloatArray, FloatArray], FloatArray]
"""Probabilities at the points, (m,), and at their neighbours, (m, k) -> terms of shape (m, k) whose mean is R."""

_CHUNK = 1 << 20  # floats of neighbours that are held at once
_LOOKS = (128, 384)  # neighbours after which a clear answer is believed
_SURE = 3.0  # standard errors from the threshold that make it clear


def robx_terms(own: FloatArray, near: FloatArray) -> FloatArray:  # noqa: ARG001 - one signature for all measures
    """Write mean minus standard deviation as a mean of terms.

    Examples
    --------
    >>> near = np.array([[0.2, 0.4, 0.9]])
    >>> bool(np.isclose(robx_terms(np.array([0.5]), near).mean(), near.mean() - near.std()))
    True
    """
    square = np.square(near - near.mean(axis=1, keepdims=True))
    variance = square.mean(axis=1, keepdims=True)
    spread = np.zeros_like(near)
    np.divide(square + variance, 2 * np.sqrt(variance), out=spread, where=variance > 0)
    return near - spread


def trex_terms(own: FloatArray, near: FloatArray) -> FloatArray:
    """Give each neighbour's probability less its distance to the point's own."""
    return np.asarray(near - np.abs(own[:, None] - near))


TERMS: dict[str, Terms] = {"robx": robx_terms, "trex": trex_terms}


@dataclass(frozen=True)
class Criterion:
    """What counts as stable.

    Attributes
    ----------
    measure : {"robx", "trex"}
    tau : float
        The least stability.
    variance : float
        Of the neighbours, in units of the features' ranges.
    n_samples : int
        Neighbours of a point.
    """

    measure: Measure
    tau: float = 0.5
    variance: float = 0.01
    n_samples: int = 1000

    def __post_init__(self) -> None:
        if not is_one_of(self.measure, TERMS):
            raise InvalidInput(f"`measure` must be one of {', '.join(map(repr, TERMS))}; got {self.measure!r}.")
        if isinstance(self.tau, bool) or not isinstance(self.tau, (int, float)) or not -1 <= self.tau <= 1:
            raise InvalidInput(f"`tau` must be between -1 and 1, where stability lies; got {self.tau!r}.")
        if not is_number(self.variance) or not 0 < self.variance < np.inf:
            raise InvalidInput(f"`variance` must be a number > 0; got {self.variance!r}.")
        check_whole("n_samples", self.n_samples)

    def noise(self, features: FeatureSpace, seed: int) -> FloatArray:
        """Draw what is added to a point, in the user's units, shape (n_samples, d).

        Names get no noise, whole numbers and codes a whole one.
        """
        rng = generator(seed, "stability")
        drawn = rng.standard_normal((self.n_samples, len(features))) * (np.sqrt(self.variance) * features.scale)
        drawn[:, features.is_nominal] = 0
        whole = [j for j, column in enumerate(features.columns) if column.levels or column.kind == "integer"]
        drawn[:, whole] = np.rint(drawn[:, whole])
        return np.asarray(drawn)


@dataclass(frozen=True, eq=False)
class StabilityTest:
    """The test `R >= tau` for the points of some rows, with noise that belongs to the row.

    Attributes
    ----------
    problem : Problem
    criterion : Criterion
    targets : array of bool, shape (rows, classes)
    noise : array of shape (rows, n_samples, d), or (1, n_samples, d) if all rows share it
    box : Box or None
        Where rules that tie columns together are checked; None for points that are not handed out.
    spent : array of int, shape (rows,)
        Model evaluations so far.
    """

    problem: Problem
    criterion: Criterion
    targets: BoolArray
    noise: FloatArray
    box: Box | None = None
    spent: IntArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "spent", np.zeros(len(self.targets), dtype=np.intp))

    def judge(self, points: FloatArray, rows: IntArray) -> BoolArray:
        """Say which points pass; fewer neighbours are asked where the answer is clear from them."""
        return self._decide(points, rows, believe=True)

    def passes(self, points: FloatArray, rows: IntArray) -> BoolArray:
        """Say which points pass with all neighbours; only what fails may fail after a first look."""
        return self._decide(points, rows, believe=False)

    def stability(self, points: FloatArray, rows: IntArray) -> FloatArray:
        """Give R with all neighbours."""
        value = np.empty(len(points))
        for part in self._chunks(points):
            own, near, _ = self.probabilities(points[part], rows[part], 0, self.criterion.n_samples)
            value[part] = TERMS[self.criterion.measure](own, near).mean(axis=1)
        return value

    def probabilities(
        self, points: FloatArray, rows: IntArray, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Give the target's probability at points, (m,), and at some neighbours, and whether the class is met."""
        cloud = self.around(points, rows, start, stop)
        shape = cloud.shape[:2]
        wanted = np.repeat(self.targets[rows], shape[1], axis=0)
        margins = self.problem.model.margins(cloud.reshape(-1, points.shape[1]), wanted).reshape(shape)
        np.add.at(self.spent, rows, shape[1])
        p = expit(margins) if self._has_probabilities else (margins > 0).astype(float)
        return p[:, 0], p[:, 1:], margins[:, 0] > 0

    def around(self, points: FloatArray, rows: IntArray, start: int, stop: int) -> FloatArray:
        """Give points, each followed by some of its neighbours, shape (m, 1 + stop - start, d)."""
        which = rows % len(self.noise)
        cloud = np.empty((len(points), 1 + stop - start, points.shape[1]))
        cloud[:, 0] = points
        np.add(self.noise[which, start:stop], points[:, None], out=cloud[:, 1:])
        codes, least, most = self._bounded
        if codes.size:
            cloud[:, 1:, codes] = np.clip(cloud[:, 1:, codes], least, most)
        return cloud

    def _decide(self, points: FloatArray, rows: IntArray, *, believe: bool) -> BoolArray:
        verdict = np.zeros(len(points), dtype=bool)
        for part in self._chunks(points):
            verdict[part] = self._decide_chunk(points[part], rows[part], believe)
        if self.box is not None and self.problem.features.linked and verdict.any():
            good = np.flatnonzero(verdict)
            broken = self.problem.features.violations(points[good], self.box.take(rows[good]))
            verdict[good] = ~broken.any(axis=1)
        return verdict

    def _decide_chunk(self, points: FloatArray, rows: IntArray, believe: bool) -> BoolArray:
        n, tau = self.criterion.n_samples, self.criterion.tau
        verdict = np.zeros(len(points), dtype=bool)
        looks = [0, *(look for look in _LOOKS if 2 * look <= n), n]
        left, seen = np.arange(len(points)), np.empty((len(points), 0))
        for start, stop in pairwise(looks):
            own, near, met = self.probabilities(points[left], rows[left], start, stop)
            left, own, seen = left[met], own[met], np.concatenate([seen, near], axis=1)[met]
            terms = TERMS[self.criterion.measure](own, seen)
            value = terms.mean(axis=1)
            verdict[left] = value >= tau
            if stop == n:
                break
            doubt = _SURE * terms.std(axis=1) / np.sqrt(stop)
            going = np.abs(value - tau) <= doubt if believe else value >= tau - doubt
            left, seen = left[going], seen[going]
            if not left.size:
                break
        return verdict

    def _chunks(self, points: FloatArray) -> Iterator[slice]:
        size = max(1, _CHUNK // ((1 + self.criterion.n_samples) * points.shape[1]))
        for start in range(0, len(points), size):
            yield slice(start, start + size)

    @cached_property
    def _has_probabilities(self) -> bool:
        return all(hasattr(model, "predict_proba") for model in self.problem.model.models)

    @cached_property
    def _bounded(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Columns that cannot hold every whole number, with their bounds."""
        features = self.problem.features
        unsigned = _unsigned(features)
        kept = [
            (j, 0.0, len(column.levels) - 1.0 if column.levels else np.inf)
            for j, column in enumerate(features.columns)
            if not column.is_nominal and (column.levels or column.name in unsigned)
        ]
        columns, least, most = (np.array([each[part] for each in kept]) for part in range(3))
        return columns.astype(np.intp), least, most


def stability(
    problem: Problem,
    points: FloatArray,
    targets: Any,
    *,
    measure: Measure = "robx",
    variance: float = 0.01,
    n_samples: int = 1000,
    random_state: int | np.random.Generator | None = 0,
) -> FloatArray:
    """Say how surely a model keeps to the target class around points, shape (n,).

    Parameters
    ----------
    problem : Problem
        The model and the columns.
    points : array of shape (n, d)
    targets : label, one label per row, or mask of accepted classes of shape (n, classes)
    measure : {"robx", "trex"}
        "robx": mean less standard deviation of the target's probability over the neighbours (Dutta et al., 2022).
        "trex": mean of the probability less its distance to the point's own (Hamman et al., 2023).
    variance : float
        Of the neighbours, in units of the features' ranges.
    n_samples : int
        Neighbours of a point; all points share the same noise.
    random_state : None, int or numpy generator

    Returns
    -------
    array of float, shape (n,)
        Between -1 and 1; near 1 where all neighbours surely have the target class.

    Notes
    -----
    With p the probability of the target and x_1 ... x_k drawn from N(x, variance):
    ``R = mean p(x_i) - std p(x_i)`` for "robx", ``R = mean(p(x_i) - |p(x) - p(x_i)|)`` for "trex".

    Numbers move by Gaussian noise in units of their range, each on its own and regardless of rules: neighbours model
    what may lie nearby, not what may be handed out. Whole numbers and ordered categories are rounded, names and
    missing values stay. With more than two classes the probability is that of the best accepted class against the
    best of the others; a model without `predict_proba` counts as sure of its label.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce.ensemble import Ensemble
    >>> X, y = np.linspace(0, 1, 50)[:, None], np.repeat([0, 1], 25)
    >>> model = LogisticRegression(C=100).fit(X, y)
    >>> problem = Problem(Ensemble([model], [0, 1]), FeatureSpace.infer(X), X, y)
    >>> stability(problem, np.array([[0.55], [0.95]]), 1).round(1)
    array([0.3, 1. ])
    """
    criterion = Criterion(measure, variance=variance, n_samples=n_samples)
    noise = criterion.noise(problem.features, check_seed(random_state))[None]
    is_mask = isinstance(targets, np.ndarray) and targets.ndim == 2
    mask: BoolArray = targets if is_mask else accepted(targets, problem.model.classes, len(points))
    test = StabilityTest(problem, criterion, mask, noise)
    return test.stability(points, np.arange(len(points)))


def _unsigned(features: FeatureSpace) -> set[Any]:
    """Find the columns whose dtype has no negative numbers."""
    form: Any = features.form
    dtypes = form.dtypes if hasattr(form, "dtypes") else form.schema.values()
    return {name for name, dtype in zip(form.names, dtypes, strict=True) if str(dtype).lower().startswith("uint")}
