"""Training rows as candidates: how far they are, and which of them still work once moved into a box."""

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.explainers.protocol import Explained, Problem
from betarce.features import Box, FeatureSpace, Norm
from betarce.search import Predicate

_CHUNK = 1 << 22  # distances held at once: 32 MiB
_GROWTH = 4  # how many more candidates each round tries: most rows are content with the first


def pairwise(features: FeatureSpace, a: FloatArray, b: FloatArray, *, norm: Norm) -> FloatArray:
    """Give the distance of each row of `a` to each row of `b`, shape (rows of a, rows of b).

    The same as `features.distance`, missing values and names included.

    Examples
    --------
    >>> features = FeatureSpace.infer(np.array([[0.0, 0.0], [4.0, 1.0]]))
    >>> pairwise(features, np.array([[0.0, 0.0]]), np.array([[4.0, 1.0], [2.0, 0.0]]), norm="l1")
    array([[2. , 0.5]])
    """
    from scipy.spatial.distance import cdist

    odd = features.is_nominal | np.array([column.missing for column in features.columns])
    total = np.zeros((len(a), len(b)))
    if not odd.all():
        scale = features.scale[~odd]
        total = cdist(a[:, ~odd] / scale, b[:, ~odd] / scale, "cityblock" if norm == "l1" else "sqeuclidean")
    for j in np.flatnonzero(odd):
        left, right = a[:, j, None], b[:, j]
        gap = np.abs(left - right) / features.scale[j]
        gap = np.where(np.isnan(gap), np.isnan(left) != np.isnan(right), gap)
        if features.is_nominal[j]:
            gap = (gap > 0).astype(np.float64)
        total += gap if norm == "l1" else np.square(gap)
    return np.asarray(total if norm == "l1" else np.sqrt(total))


def nearest(
    features: FeatureSpace,
    points: FloatArray,
    rows: FloatArray,
    k: int,
    *,
    norm: Norm,
    eligible: BoolArray | None = None,
) -> tuple[IntArray, FloatArray]:
    """Find the k nearest rows of each point, nearest first; of two that are as near, the earlier one.

    Parameters
    ----------
    features : FeatureSpace
    points : array of shape (n, d)
    rows : array of shape (m, d)
    k : int
    norm : {"l1", "l2"}
    eligible : array of bool, shape (n, m), optional
        Which rows count for which point.

    Returns
    -------
    indices, distances : arrays of shape (n, min(k, m))
        -1 and infinity where there are not so many.

    Examples
    --------
    >>> features = FeatureSpace.infer(np.array([[0.0], [1.0]]))
    >>> nearest(features, np.array([[0.0]]), np.array([[0.5], [0.25], [1.0]]), 2, norm="l1")
    (array([[1, 0]]), array([[0.25, 0.5 ]]))
    """
    k = min(k, len(rows))
    indices = np.full((len(points), k), -1)
    distances = np.full((len(points), k), np.inf)
    size = max(1, _CHUNK // max(1, len(rows)))
    for first in range(0, len(points), size):
        part = slice(first, first + size)
        gaps = pairwise(features, points[part], rows, norm=norm)
        if eligible is not None:
            gaps[~eligible[part]] = np.inf
        best = np.argpartition(gaps, k - 1, axis=1)[:, :k] if k < len(rows) else np.tile(np.arange(k), (len(gaps), 1))
        best.sort(axis=1)
        lengths = np.take_along_axis(gaps, best, axis=1)
        order = np.argsort(lengths, axis=1, kind="stable")
        indices[part] = np.take_along_axis(best, order, axis=1)
        distances[part] = np.take_along_axis(lengths, order, axis=1)
    indices[np.isinf(distances)] = -1
    return indices, distances


def predicted(problem: Problem) -> IntArray:
    """Give the class code that the model gives each training row; asked once for each problem."""

    def ask() -> IntArray:
        return np.searchsorted(problem.model.classes, problem.model.labels(problem.X_train)[:, 0])

    return problem.cached("predicted", ask)


def recorded(problem: Problem) -> IntArray:
    """Give the class code of each training row's own label."""
    return np.searchsorted(problem.model.classes, problem.y_train)


def by_target(targets: AnyArray) -> list[tuple[BoolArray, IntArray]]:
    """Group rows that accept the same classes: the classes, and which rows they are."""
    groups, places = np.unique(targets, axis=0, return_inverse=True)
    return [(group, np.flatnonzero(places.ravel() == i)) for i, group in enumerate(groups)]


class Trials:
    """Offer rows one training row after the other, moved into their boxes, until one passes.

    Parameters
    ----------
    originals : array of shape (n, d)
        Tried first: what passes already needs no search.
    passes : callable
        Points and the row that each is for -> whether each will do.
    problem : Problem
    box : Box

    Attributes
    ----------
    points : array of shape (n, d)
        What passed, or the original.
    found : array of bool, shape (n,)
    spent : array of int, shape (n,)
        How many points were tried.
    """

    def __init__(self, originals: FloatArray, passes: Predicate, problem: Problem, box: Box) -> None:
        self._passes = passes
        self._features = problem.features
        self._rows = problem.X_train
        self._box = box
        start = self._features.project(originals, box)
        self.start = start
        self.found = self.passes(start, np.arange(len(start)))
        self.points = np.where(self.found[:, None], start, originals)
        self.spent = np.ones(len(originals), dtype=np.intp)

    def passes(self, points: FloatArray, rows: IntArray) -> BoolArray:
        """Say which projected points are allowed and pass."""
        hits = self._passes(points, rows)
        if self._features.linked:
            hits = hits & ~self._features.violations(points, self._box.take(rows)).any(axis=1)
        return hits

    @property
    def open(self) -> IntArray:
        """Which rows have nothing yet."""
        return np.flatnonzero(~self.found)

    def offer(self, rows: IntArray, order: IntArray) -> None:
        """Try the training rows `order`, shape (rows, k), in turn until one passes; -1 pads."""
        first, width = 0, 1
        while first < order.shape[1] and len(rows):
            candidates = order[:, first : first + width]
            at, place = np.nonzero(candidates >= 0)
            owners = rows[at]
            points = self._features.project(self._rows[candidates[at, place]], self._box.take(owners))
            hits = np.zeros(candidates.shape, dtype=bool)
            hits[at, place] = self.passes(points, owners)
            self.spent[rows] += (candidates >= 0).sum(axis=1)
            self._take(rows, hits, at, place, points)
            left = np.asarray(~hits.any(axis=1) & (candidates[:, -1] >= 0))
            rows, order = rows[left], order[left]
            first, width = first + width, width * _GROWTH

    def _take(self, rows: IntArray, hits: BoolArray, at: IntArray, place: IntArray, points: FloatArray) -> None:
        chosen = hits[at, place] & (place == hits.argmax(axis=1)[at])
        self.points[rows[at[chosen]]] = points[chosen]
        self.found[rows[at[chosen]]] = True

    def explained(self, reasons: list[str]) -> Explained:
        """Hand out what was found; `reasons` counts only where nothing was."""
        texts = ["" if found else reason for found, reason in zip(self.found, reasons, strict=True)]
        return Explained(self.points, self.found, texts, self.spent)
