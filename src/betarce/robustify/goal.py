"""What the search of BetaRCE is after: the target class under the model, and under as many members as possible."""

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.ensemble import Ensemble
from betarce.explainers import Problem
from betarce.features import Box
from betarce.search import Task

_LEAST_SPREAD = 1e-6
_ANCHORS = 3  # nearest deep rows for each point
_DEEPEST = 0.2  # share of the deep rows that counts as the deepest
_SCALE_ROWS = 500
_MOST_ANCHORS = 2000  # training rows to choose them from


class MembersGoal:
    """The depth and the robustness of points, as the search members see them.

    Parameters
    ----------
    problem : Problem
        The explained model.
    members : Ensemble
        The members that steer.
    targets : array of bool, shape (n, classes)
        The classes that each row accepts.
    quorum : int, optional
        How many of the members must agree for a point to be robust; all of them by default.
    scales : array of shape (members,), optional
        The usual size of each member's margins, from `margin_scales`.
    anchors : Anchors, optional
        Training rows to fall back on.

    Notes
    -----
    The depth of a point is the mean of the members' margins over their standard deviation. If margins were normal over
    the space, a depth of z would mean that a share Phi(z) of all retrained models agrees. Unlike the smallest margin
    it does not hang on a single member, so there is less for a search to exploit. Margins are squashed first, in units
    of their usual size: how very sure the surest members are must not count as disagreement. See
    `docs/decisions/depth.md`.
    """

    def __init__(
        self,
        problem: Problem,
        members: Ensemble,
        targets: BoolArray,
        *,
        quorum: int | None = None,
        scales: FloatArray | float = 1.0,
        anchors: "Anchors | None" = None,
    ) -> None:
        self._problem = problem
        self._members = members
        self._targets = targets
        self._quorum = len(members) if quorum is None else quorum
        self._scales = scales
        self._anchors = anchors

    def __call__(self, points: FloatArray, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        """Give the depth of points, and whether the model itself gives them their target."""
        targets = self._targets[rows]
        mean, spread = _moments(self._squash(self._members.margins(points, targets)))
        return mean / spread, self._problem.is_target(points, targets)

    def slopes(self, points: FloatArray, rows: IntArray) -> FloatArray | None:
        """Give the gradient of the depth where every member has one."""
        if not self._members.has_slopes:
            return None
        targets = self._targets[rows]
        margins, slopes = self._members.linearized(points, targets)
        margins = self._squash(margins)
        mean, spread = _moments(margins)
        # d(mean / spread) / d(squashed margin of one member), then through the squashing
        weights = (1 - (mean / spread**2)[:, None] * (margins - mean[:, None])) / spread[:, None] / margins.shape[1]
        return slopes(weights * (1 - margins**2) / self._scales)

    def _squash(self, margins: FloatArray) -> FloatArray:
        margins /= self._scales
        return np.asarray(np.tanh(margins, out=margins))

    def is_robust(self, points: FloatArray, rows: IntArray) -> BoolArray:
        """Say which points the model and a quorum of the members put in their target class."""
        targets = self._targets[rows]
        robust = self._problem.is_target(points, targets)
        robust[robust] = self._members.reaches(points[robust], targets[robust], self._quorum)
        return robust

    def anchors(self, task: Task) -> FloatArray | None:
        """Give each row the training rows to fall back on, shape (n, anchors, d)."""
        if self._anchors is None:
            return None
        # A row without anchors gets its own start as one, which changes nothing.
        anchors = np.repeat(task.starts[:, None], self._anchors.n_each, axis=1)
        for target in {target.tobytes(): target for target in self._targets}.values():
            rows = np.flatnonzero((self._targets == target).all(axis=1))
            nearest = self._anchors.nearest(task.starts[rows], target, task.box.take(rows))
            if nearest is not None:
                anchors[rows] = nearest
        return anchors


def margin_scales(problem: Problem, members: Ensemble) -> FloatArray:
    """Give the usual size of each member's margins: their median over training rows.

    Members with and without a penalty, or of different families, are sure of themselves on very different scales;
    without this the loudest would decide alone.
    """
    rows = np.linspace(0, len(problem.X_train) - 1, min(_SCALE_ROWS, len(problem.X_train))).astype(int)
    margins = members.margins(problem.X_train[rows], members.classes[1])
    return np.asarray(np.maximum(np.median(np.abs(margins), axis=0), _LEAST_SPREAD))


class Anchors:
    """Training rows that lie deep inside each class, to fall back on.

    Parameters
    ----------
    problem : Problem
        Has the training rows.
    members : Ensemble
        The members that steer.
    scales : array of shape (members,), optional
        The usual size of each member's margins.
    """

    def __init__(self, problem: Problem, members: Ensemble, scales: FloatArray | float = 1.0) -> None:
        rows = np.linspace(0, len(problem.X_train) - 1, min(_MOST_ANCHORS, len(problem.X_train))).astype(int)
        self._problem = problem
        self._members = members
        self._scales = scales
        self._rows = np.unique(rows)
        self._deep: dict[bytes, FloatArray] = {}

    n_each = _ANCHORS + 1

    def nearest(self, points: FloatArray, target: BoolArray, box: Box) -> FloatArray | None:
        """Give the nearest deep rows, then the nearest of the deepest, all moved into each point's box.

        Returns
        -------
        array of shape (n, anchors, d), or None if no training row is deep in this class
        """
        deep = self._of(target)
        if not len(deep):
            return None
        features = self._problem.features
        n_deepest = max(1, int(_DEEPEST * len(deep)))
        anchors = np.empty((len(points), _ANCHORS + 1, points.shape[1]))
        for i in range(len(points)):
            own = np.full(len(deep), i)
            allowed = features.project(deep, box.take(own))
            distance = features.distance(allowed, points[own])
            # Where there are fewer, the nearest is repeated: the shape must not depend on the class.
            anchors[i, :_ANCHORS] = allowed[np.resize(np.argsort(distance, kind="stable")[:_ANCHORS], _ANCHORS)]
            anchors[i, _ANCHORS] = allowed[distance[:n_deepest].argmin()]
        return anchors

    def _of(self, target: BoolArray) -> FloatArray:
        """Give the deeper half of the rows of a target, deepest first."""
        key = target.tobytes()
        if key not in self._deep:
            points = self._problem.X_train[self._rows]
            everyone = np.zeros(len(points), dtype=np.intp)
            depth, valid = MembersGoal(self._problem, self._members, target[None], scales=self._scales)(
                points, everyone
            )
            inside = valid & (depth > 0)
            order = np.argsort(-depth[inside], kind="stable")[: (inside.sum() + 1) // 2]
            self._deep[key] = points[inside][order]
        return self._deep[key]


def _moments(margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = np.add.reduce(margins, axis=1) / margins.shape[1]
    gap = margins - mean[:, None]
    variance = np.einsum("ij,ij->i", gap, gap) / margins.shape[1]
    return mean, np.sqrt(variance + _LEAST_SPREAD**2)
