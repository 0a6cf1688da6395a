"""Let methods explain the same rows, with their parameters tuned and their time taken."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from betarce.comparison.grids import Grid, configurations
from betarce.comparison.scores import ExplainedRows
from betarce.ensemble import Ensemble
from betarce.explainers import Explained, Explainer, Problem, check_explainer
from betarce.parameters import with_parameters
from betarce.progress import Advance, progress
from betarce.robustify import BetaRCE, Result
from betarce.seeding import derive, generator

TUNING_ROWS = 20
TUNING_MEMBERS = 30


@dataclass(frozen=True, eq=False)
class Answer:
    """What one method handed out.

    Attributes
    ----------
    explained : Explained
        One point per row.
    seconds : float
        The time it took.
    result : Result or None
        The whole answer of a form of BetaRCE; None for other methods.
    """

    explained: Explained
    seconds: float
    result: Result | None = None


@dataclass(frozen=True, eq=False)
class OtherMethods:
    """Methods other than BetaRCE on one problem, tuned if they have a grid.

    Attributes
    ----------
    problem : Problem
        What they are told.
    seed : int
        Of the whole comparison.
    draw_tuning_members : callable
        Draws the members on which grids are tried, which serve for nothing else.
    tuning_rows : int
        Training rows on which grids are tried.
    """

    problem: Problem
    seed: int
    draw_tuning_members: Callable[[], Ensemble]
    tuning_rows: int = TUNING_ROWS

    def run(self, method: Any, name: str, parameters: Mapping[str, Any], batch: ExplainedRows) -> Answer:
        """Let a method answer, and take the time."""
        explainer = configured(method, parameters)
        started = time.perf_counter()
        seeds = [derive(self.seed, name, row.tobytes()) for row in batch.originals + 0.0]
        explained = explainer.explain(batch.originals, batch.targets, batch.problem, batch.box, seeds)
        return Answer(explained, time.perf_counter() - started)

    def tune(self, methods: Mapping[str, Any], grids: Mapping[str, Grid], verbose: int) -> dict[str, dict[str, Any]]:
        """Choose a configuration of every method that has a grid."""
        if not grids:
            return {}
        total = sum(len(configurations(grid)) for grid in grids.values())
        with progress("Tuning methods", total=total, verbose=verbose) as advance:
            return {name: self.best(methods[name], name, grid, advance) for name, grid in grids.items()}

    def best(self, method: Any, name: str, grid: Grid, advance: Advance = lambda _: None) -> dict[str, Any]:
        """Choose the configuration of highest empirical robustness, on rows and members that serve for nothing else."""
        best, chosen = -np.inf, {}
        for parameters in configurations(grid):
            answer = self.run(method, f"tune/{name}", parameters, self._tuning_batch)
            scores = self._tuning_batch.measure(name, answer.explained, answer.seconds, self._tuning_members, np.nan)
            # A row without an answer is not robust: else a method that answers one easy row would win.
            robustness = float(scores["robustness"].fillna(0.0).mean())
            if robustness > best:
                best, chosen = robustness, parameters
            advance(1)
        return chosen

    @cached_property
    def _tuning_members(self) -> Ensemble:
        return self.draw_tuning_members()

    @cached_property
    def _tuning_batch(self) -> ExplainedRows:
        problem = self.problem
        n = len(problem.X_train)
        rows = np.sort(generator(self.seed, "tune").choice(n, min(self.tuning_rows, n), replace=False))
        points, classes = problem.X_train[rows], problem.model.classes
        codes = np.searchsorted(classes, problem.model.labels(points)[:, 0])
        other = (codes[:, None] + 1) % len(classes) == np.arange(len(classes))
        return ExplainedRows(problem, points, pd.RangeIndex(len(rows)), other, problem.features.box(points))


def answer_of(rce: BetaRCE, batch: ExplainedRows) -> Answer:
    """Let BetaRCE answer, take the time, and read what it hands out as any other method's answer."""
    started = time.perf_counter()
    result = rce.explain(batch.problem.features.decode(batch.originals), target=batch.wanted())
    seconds = time.perf_counter() - started
    found = result.certified
    robust = [item.points["robust"] for item in result]
    bases = [item.points["base"] for item in result]
    blank = np.full(batch.originals.shape[1], np.nan)
    explained = Explained(
        np.array([row if point is None else point for row, point in zip(batch.originals, robust, strict=True)]),
        found,
        [item.reason for item in result],
        np.array([item.n_evaluations for item in result]),
        np.array([blank if base is None else base for base in bases]),
    )
    return Answer(explained, seconds, result)


def configured(method: Any, parameters: Mapping[str, Any]) -> Explainer:
    """Give an explainer with its parameters set."""
    explainer = check_explainer(method)
    assert explainer is not None
    return with_parameters(explainer, parameters)
