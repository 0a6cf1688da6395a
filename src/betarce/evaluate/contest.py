"""Methods that answer for the same rows, on the model and members of one fitted BetaRCE."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from betarce.ensemble import Ensemble
from betarce.evaluate.grids import Grid, configurations
from betarce.evaluate.scene import Scene
from betarce.explainers import Explained, Explainer, check_explainer
from betarce.progress import Advance, progress
from betarce.robustify import BetaRCE, Result
from betarce.seeding import derive, generator
from betarce.spaces import Given

OURS = ("betarce", "betarce-paper")
_TUNING_ROWS = 20
_TUNING_MEMBERS = 30


@dataclass(frozen=True, eq=False)
class Answer:
    """What one method handed out.

    Attributes
    ----------
    explained : Explained
        One point a row.
    seconds : float
        The time it took.
    result : Result or None
        The whole answer of a form of BetaRCE; None for other methods.
    """

    explained: Explained
    seconds: float
    result: Result | None = None


@dataclass(frozen=True, eq=False)
class Arena:
    """A fitted BetaRCE, whose model and members all methods share."""

    ours: BetaRCE
    X_train: Any
    y_train: Any
    settings: Mapping[str, Any]
    tuning_rows: int = _TUNING_ROWS
    tuning_members: int = _TUNING_MEMBERS

    @property
    def seed(self) -> int:
        """The seed of the whole comparison."""
        return int(self.settings["random_state"])

    def run(self, method: Any, name: str, parameters: Mapping[str, Any], scene: Scene) -> Answer:
        """Let a method answer, and take the time."""
        if method in OURS:
            rce = self.ours if method == "betarce" else self._paper()
            started = time.perf_counter()
            explained, result = from_result(rce, scene)
            return Answer(explained, time.perf_counter() - started, result)
        explainer = configured(method, parameters)
        started = time.perf_counter()
        seeds = [derive(self.seed, name, row.tobytes()) for row in scene.originals + 0.0]
        explained = explainer.explain(scene.originals, scene.targets, scene.problem, scene.box, seeds)
        return Answer(explained, time.perf_counter() - started)

    def _paper(self) -> BetaRCE:
        """Give the paper's form, on the very members that steer ours."""
        members = self.ours.search_members_.models
        paper = BetaRCE(
            self.ours.model_,
            space=Given(members),
            base=self.ours.base,
            features=self.ours.features_,
            search="growing-spheres",
            certify_on="search",
            n_models=len(members),
            verbose=-1,
            **self.settings,
        )
        return paper.fit(self.X_train, self.y_train)

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
            answer = self.run(method, f"tune/{name}", parameters, self._tuning_scene)
            scores = self._tuning_scene.measure(name, answer.explained, answer.seconds, self._judges, self.ours.delta)
            # A row without an answer is not robust: else a method that answers one easy row would win.
            robustness = float(scores["robustness"].fillna(0.0).mean())
            if robustness > best:
                best, chosen = robustness, parameters
            advance(1)
        return chosen

    @cached_property
    def _judges(self) -> Ensemble:
        return self.ours.fresh_members(self.tuning_members, role="tune")

    @cached_property
    def _tuning_scene(self) -> Scene:
        n = len(self.ours.problem_.X_train)
        rng = generator(self.seed, "tune")
        rows = np.sort(rng.choice(n, min(self.tuning_rows, n), replace=False))
        points = self.ours.problem_.X_train[rows]
        codes = np.searchsorted(self.ours.classes_, self.ours.problem_.model.labels(points)[:, 0])
        other = (codes[:, None] + 1) % len(self.ours.classes_) == np.arange(len(self.ours.classes_))
        return Scene(self.ours.problem_, points, pd.RangeIndex(len(rows)), other, self.ours.features_.box(points))


def from_result(rce: BetaRCE, scene: Scene) -> tuple[Explained, Result]:
    """Read what BetaRCE handed out as any other method's answer."""
    result = rce.explain(scene.problem.features.decode(scene.originals), target=scene.wanted())
    found = result.certified
    robust = [item.points["robust"] for item in result]
    bases = [item.points["base"] for item in result]
    blank = np.full(scene.originals.shape[1], np.nan)
    explained = Explained(
        np.array([row if point is None else point for row, point in zip(scene.originals, robust, strict=True)]),
        found,
        [item.reason for item in result],
        np.array([item.n_evaluations for item in result]),
        np.array([blank if base is None else base for base in bases]),
    )
    return explained, result


def configured(method: Any, parameters: Mapping[str, Any]) -> Explainer:
    """Give an explainer with its parameters set."""
    explainer = check_explainer(method)
    assert explainer is not None
    if not parameters:
        return explainer
    changed: Explainer = replace(explainer, **parameters)  # type: ignore[type-var]
    return changed
