"""From base counterfactuals to ladders of robust candidates, by whichever search was chosen."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import Problem
from betarce.features import Box
from betarce.robustify.goal import Anchors, Goal, margin_scales
from betarce.search import FrontierSearch, GrowingSpheresSearch, Ladders

SEARCHES: dict[str, type[FrontierSearch] | type[GrowingSpheresSearch]] = {
    "frontier": FrontierSearch,
    "growing-spheres": GrowingSpheresSearch,
}


def check_search(search: Any) -> FrontierSearch | GrowingSpheresSearch:
    """Turn a name or a search into a search.

    Examples
    --------
    >>> check_search("frontier").norm
    'l1'
    """
    if isinstance(search, str) and search in SEARCHES:
        return SEARCHES[search]()
    if isinstance(search, (FrontierSearch, GrowingSpheresSearch)):
        return search
    raise InvalidInput(
        f"`search` must be one of {', '.join(map(repr, SEARCHES))}, or a search such as "
        f"betarce.FrontierSearch(norm='l2'); got {search!r}."
    )


@dataclass(frozen=True, eq=False)
class Task:
    """Rows that want a robust point: where each starts, what it wants, where it may go.

    Attributes
    ----------
    bases : array of shape (n, d)
    targets : array of bool, shape (n, classes)
    box : Box
    seeds : list of int
    """

    bases: FloatArray
    targets: BoolArray
    box: Box
    seeds: list[int]

    def take(self, rows: IntArray) -> "Task":
        """Pick some rows."""
        return Task(self.bases[rows], self.targets[rows], self.box.take(rows), [self.seeds[i] for i in rows])


class Steering:
    """The search members at work; they never see who certifies.

    Parameters
    ----------
    search : FrontierSearch or GrowingSpheresSearch
    problem : Problem
        The explained model.
    members : Ensemble
        The members that steer.
    quorum : int
        How many of them Growing Spheres asks to agree.
    """

    def __init__(
        self, search: FrontierSearch | GrowingSpheresSearch, problem: Problem, members: Ensemble, quorum: int
    ) -> None:
        self._search = search
        self._problem = problem
        self._members = members
        self._quorum = quorum
        self._scales = margin_scales(problem, members)
        self._anchors = Anchors(problem, members, self._scales)

    def ladders(self, task: Task) -> Ladders:
        """Give each row its candidates, safest first and closest last."""
        if isinstance(self._search, GrowingSpheresSearch):
            return self._one_rung(self._search, task)
        ladders = self._search.climb(
            task.bases,
            Goal(self._problem, self._members, task.targets, self._scales),
            self._problem.features,
            task.box,
            task.seeds,
            anchors=lambda rows: self._anchors_for(task.take(rows)),
        )
        empty = np.flatnonzero(~ladders.exists.any(axis=1))
        return self._fill(ladders, empty, task) if empty.size else ladders

    def _anchors_for(self, task: Task) -> FloatArray:
        # A row without anchors gets its own base as one, which changes nothing.
        anchors = np.repeat(task.bases[:, None], self._anchors.n_each, axis=1)
        for target in np.unique(task.targets, axis=0):
            rows = np.flatnonzero((task.targets == target).all(axis=1))
            nearest = self._anchors.nearest(task.bases[rows], target, task.box.take(rows))
            if nearest is not None:
                anchors[rows] = nearest
        return anchors

    def _one_rung(self, search: GrowingSpheresSearch, task: Task) -> Ladders:
        goal = Goal(self._problem, self._members, task.targets)

        def is_robust(points: FloatArray, rows: IntArray) -> BoolArray:
            return goal.is_robust(points, rows, self._quorum)

        result = search.find(task.bases, is_robust, self._problem.features, task.box, task.seeds)
        spent = np.array([status == "budget-spent" for status in result.status])
        return Ladders(
            result.points[:, None], result.found[:, None], np.zeros((len(task.bases), 1)), result.n_evaluations, spent
        )

    def _fill(self, ladders: Ladders, rows: IntArray, task: Task) -> Ladders:
        """Where climbing met nothing at all, let Growing Spheres look around."""
        rest = self._one_rung(GrowingSpheresSearch(), task.take(rows))
        points, exists, spent = ladders.points.copy(), ladders.exists.copy(), ladders.spent.copy()
        points[rows, 0], exists[rows, 0], spent[rows] = rest.points[:, 0], rest.exists[:, 0], rest.spent
        evaluations = ladders.n_evaluations.copy()
        evaluations[rows] += rest.n_evaluations
        return replace(ladders, points=points, exists=exists, spent=spent, n_evaluations=evaluations)
