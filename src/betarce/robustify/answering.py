"""From rows to answers: bases first, then the ladders of the search, then the vote of those that decide."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.explainers import Closest, Explained, Explainer, Problem, check_explainer
from betarce.features import Box
from betarce.members import Members
from betarce.posterior import Guarantee
from betarce.results.counterfactual import RobustCounterfactual
from betarce.results.ladder import least_quorum
from betarce.robustify.asked import Asked
from betarce.robustify.bases import find_bases, given_points, settle, with_fallback, with_lowest_rungs
from betarce.robustify.batch import Batch, wanted
from betarce.robustify.blocking import with_advice
from betarce.robustify.certify import certificates_by, walk_ladders
from betarce.robustify.rows import Rows
from betarce.robustify.sizes import RESERVE
from betarce.robustify.statuses import answers
from betarce.robustify.steer import Steering
from betarce.search import Ladders, Search, Task
from betarce.search.protocol import Climber
from betarce.seeding import derive


@dataclass(frozen=True, eq=False)
class Answering:
    """All that answers rows once members are trained; needs no training itself, so parameters may change it.

    Attributes
    ----------
    problem : Problem
        The explained model.
    search : search
    base : str, explainer, callable or None
        As in `BetaRCE`.
    steering : Steering
        The search members at work.
    guarantee : Guarantee
    seed : int
        What every row's own seed is derived from.
    """

    problem: Problem
    search: Search
    base: Any
    steering: Steering
    guarantee: Guarantee
    seed: int

    @classmethod
    def of(
        cls, problem: Problem, search: Search, base: Any, members: Members, guarantee: Guarantee, *, seed: int
    ) -> "Answering":
        """Put the search members to work, once it is clear that those that decide can give the guarantee."""
        check_explainer(base)
        n = len(members.search)
        # A point at the edge of the quorum would fail a second vote about every other time.
        quorum = guarantee.quorum(n) if members.steered else n
        guarantee.quorum(len(members.voters))
        if not members.steered:
            guarantee = replace(guarantee, reserve=RESERVE[problem.model.kind])
        return cls(problem, search, base, Steering(search, problem, members.search, quorum), guarantee, seed)

    def asked(self, rows: Rows) -> Asked:
        """Say for the rows that can be read what each wants, and has already."""
        classes = self.problem.model.classes
        everyone = np.zeros(len(rows.names), dtype=np.intp)
        everyone[rows.kept] = np.searchsorted(classes, self.problem.model.labels(rows.originals)[:, 0])
        targets, there = (part[rows.kept] for part in wanted(rows.target, everyone, classes))
        return Asked(rows.names[rows.kept], rows.originals, targets, there, rows.bases, rows.kept_overrides)

    def answers(self, asked: Asked, members: Members) -> list[RobustCounterfactual]:
        """Give rows their answers, all of them together."""
        batch, ladders = self.ladders(asked)
        voters = members.voters
        least = least_quorum(self.guarantee, len(voters))
        walks = walk_ladders(ladders, batch.targets, voters, self.guarantee, least=least)
        certificate = certificates_by(members, self.guarantee)
        found = answers(batch, ladders, walks, self.problem.features, certificate, voters)
        return with_advice(found, batch, self.problem, asked.overrides)

    def ladders(self, asked: Asked) -> tuple[Batch, Ladders]:
        """Find the base of every row, then the ladder that leads up from where its search starts."""
        batch = self._batch(asked)
        ladders = self._ladders(batch)
        if batch.post_hoc:
            return batch, ladders
        based = with_lowest_rungs(batch.based, ladders, batch.originals, batch.targets, self.problem)
        return replace(batch, based=based), ladders

    def _ladders(self, batch: Batch) -> Ladders:
        task, targets, open_ = batch.task, batch.targets, batch.searchable
        if open_.size == len(targets):
            return self.steering.ladders(task, targets)
        if not open_.size:
            return Ladders.none(len(targets), batch.originals.shape[1])
        return self.steering.ladders(task.take(open_), targets[open_]).spread(open_, len(targets))

    def _batch(self, asked: Asked) -> Batch:
        originals, targets, there = asked.originals, asked.targets, asked.there
        features = self.problem.features
        box = features.box(originals, asked.overrides)
        if asked.bases is None:
            found, helped = self._found_bases(originals, targets, box, np.flatnonzero(box.possible & ~there))
        else:
            found, helped = given_points(*asked.bases), {}
        based, notes = settle(found, targets, self.problem, box)
        notes = [helped.get(i, note) for i, note in enumerate(notes)]
        post_hoc = asked.bases is not None or self.base is not None
        starts = based.points if post_hoc else originals
        task = Task(starts, features, box, self._seeds(originals, targets, "search"))
        return Batch(originals, asked.names, task, targets, based, notes, there, post_hoc)

    def _found_bases(
        self, originals: FloatArray, targets: BoolArray, box: Box, open_: IntArray
    ) -> tuple[Explained, dict[int, str]]:
        """Let the base method answer; one that was chosen by name gets help where it finds nothing."""
        asked = self.problem, originals, targets, box, self._seeds(originals, targets, "base"), open_
        found = find_bases(self._explainer(), *asked)
        return with_fallback(found, *asked) if isinstance(self.base, str) else (found, {})

    def _explainer(self) -> Explainer:
        """Give what makes the bases: the method asked for, or the closest plain counterfactual, for contrast."""
        explainer = check_explainer(self.base)
        if explainer is not None:
            return explainer
        return Closest(self.search) if isinstance(self.search, Climber) else Closest()

    def _seeds(self, originals: FloatArray, targets: BoolArray, purpose: str) -> list[int]:
        """Give each row a seed by what it is, not by where it stands: a batch's composition changes nothing."""
        return [
            derive(self.seed, purpose, row.tobytes(), target.tobytes())
            for row, target in zip(originals + 0.0, targets, strict=True)
        ]
