"""Where search and explained model meet: the members that steer, as a goal that any search can ask."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.ensemble import Ensemble
from betarce.explainers import Problem
from betarce.robustify.goal import Anchors, MembersGoal, margin_scales
from betarce.search import Ladders, Search, Task


class Steering:
    """The search members at work; they never see who certifies.

    Parameters
    ----------
    search : search
        Any object with `ladders(task, goal)`.
    problem : Problem
        The explained model.
    members : Ensemble
        The members that steer.
    quorum : int
        How many of them must agree for a point to be robust.
    """

    def __init__(self, search: Search, problem: Problem, members: Ensemble, quorum: int) -> None:
        self._search = search
        self._problem = problem
        self._members = members
        self._quorum = quorum

    def ladders(self, task: Task, targets: BoolArray) -> Ladders:
        """Give each row its candidates, safest first and closest last.

        Whatever the search says: a point that the explained model itself does not put in the target class is no
        candidate.
        """
        goal = MembersGoal(
            self._problem,
            self._members,
            targets,
            quorum=self._quorum,
            scales=self._scales,
            anchors=self._anchors,
        )
        ladders = self._search.ladders(task, goal)
        exists = ladders.exists.copy()
        rows, rungs = np.nonzero(exists)
        exists[rows, rungs] = self._problem.is_target(ladders.points[rows, rungs], targets[rows])
        return replace(ladders, exists=exists)

    @cached_property
    def _scales(self) -> FloatArray:
        return margin_scales(self._problem, self._members)

    @cached_property
    def _anchors(self) -> Anchors:
        return Anchors(self._problem, self._members, self._scales)
