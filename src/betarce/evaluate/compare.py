"""Methods side by side: the same model, the same rows, and the same fresh members that measure."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray, FloatArray
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput, require
from betarce.evaluate.grids import Grid, check_grids, configurations
from betarce.explainers import EXPLAINERS, Explained, Explainer, Problem, check_explainer
from betarce.features import Box, check_table, row_names
from betarce.progress import progress
from betarce.robustify import BetaRCE
from betarce.robustify.style import BLUE, GREEN, GREY, ORANGE
from betarce.seeding import check_seed, derive, generator
from betarce.spaces import Given
from betarce.targets import accepted, named

_OURS = ("betarce", "betarce-paper")
_NEIGHBOURS = 15
_TUNING_ROWS = 20
_TUNING_MEMBERS = 30
_MEANS = (
    *("found", "robustness", "covered", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base"),
    *("changed", "evaluations", "ms"),
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What each method did for each row.

    Attributes
    ----------
    per_row : DataFrame
        One line a method and row: "found", "robustness" (the share of fresh members that keep the class), "covered"
        (whether that is at least delta), "proximity_l1" and "proximity_l2" (to the original), "plausibility" (mean L2
        to the 15 nearest training rows), "distance_to_base" (L1, for methods that have a base), "changed" (features),
        "evaluations", "ms" and "reason". Blank where there is no answer.
    chosen : mapping of method to mapping
        The parameters that tuning chose.
    delta : float
    """

    per_row: pd.DataFrame
    chosen: Mapping[str, Mapping[str, Any]]
    delta: float

    def __repr__(self) -> str:
        return f"Comparison({self.per_row['method'].nunique()} methods, {self.per_row['row'].nunique()} rows)"

    def summary(self) -> pd.DataFrame:
        """Give one line a method: means, and the standard error of the robustness.

        A row without an answer lowers "found" and has no part in the other means; read them together.
        """
        groups = self.per_row.groupby("method", sort=False)
        table = groups[list(_MEANS)].mean()
        table.insert(2, "robustness_se", groups["robustness"].sem())
        table.insert(0, "rows", groups.size())
        return table

    def plot(self, ax: Any = None) -> Any:
        """Draw robustness against distance, one mark a method; gives the matplotlib axes."""
        plt = require("matplotlib.pyplot", extra="plot", purpose="A plot")
        ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")[1] if ax is None else ax
        table = self.summary().dropna(subset="proximity_l1")
        spread = np.ptp(table[["proximity_l1", "robustness"]].to_numpy(), axis=0) + 1e-9
        marked: list[Any] = []
        for name, line in table.iterrows():
            ours = str(name).startswith("betarce")
            color = GREEN if ours else BLUE if np.isnan(line["distance_to_base"]) else ORANGE
            at = (line["proximity_l1"], line["robustness"])
            ax.errorbar(
                *at, yerr=line["robustness_se"], fmt="*" if ours else "o", ms=13 if ours else 7, color=color, lw=1
            )
            found = "" if line["found"] == 1 else f" ({line['found']:.0%} found)"
            # The names of neighbours go above and below.
            taken = sum((np.abs(np.subtract(at, other)) < (0.25, 0.06) * spread).all() for other in marked)
            marked.append(at)
            ax.annotate(f"{name}{found}", at, xytext=(8, 4 - 14 * taken), textcoords="offset points", fontsize=8)
        ax.axhline(self.delta, color=GREY, lw=0.8, ls="--")
        place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "xytext": (-4, 3)}
        ax.annotate(f"delta = {self.delta:g}", (1, self.delta), ha="right", fontsize=8, **place)
        ax.margins(x=0.2, y=0.1)
        ax.set(
            xlabel="L1 distance to the original (in ranges of the features)",
            ylabel="share of fresh models that keep the class",
            title="Robustness against distance",
        )
        return ax


def compare(
    methods: Iterable[Any],
    model: Any,
    space: Any,
    X_train: Any,
    y_train: Any,
    *,
    rows: Any,
    target: Any = None,
    base: Any = "growing-spheres",
    features: Any = None,
    delta: float = 0.9,
    confidence: float = 0.95,
    n_audit: int = 100,
    grids: str | Mapping[str, Grid] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods on the same rows, and let the same fresh members judge all of them.

    Parameters
    ----------
    methods : iterable of str, explainer, callable, or pair (name, any of these)
        Explainers by name ("face", "roar", ...), "betarce" (frontier search, fresh certifying members) and
        "betarce-paper" (the paper's search, certified by the members that steered it).
    model, space, features, delta, confidence, random_state, n_jobs, verbose
        As in `BetaRCE`.
    X_train, y_train
        The training table.
    rows : DataFrame or array of shape (n, d)
        What to explain; apart from the training table.
    target : label, set of labels, or one of either a row, optional
        As in `BetaRCE.explain`.
    base : str, explainer or callable
        What both forms of BetaRCE start from.
    n_audit : int
        Fresh members that measure the robustness; no method sees them.
    grids : "paper", mapping of method to grid, or None
        Methods that have a grid are first tried with each of its configurations on some training rows, against members
        that serve for nothing else; the one of highest empirical robustness is then compared. "paper" takes the grids
        of the paper's appendix.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> comparison = compare(
    ...     ["growing-spheres", "betarce"], model, "bootstrap", X[:400], y[:400], rows=X[400:410],
    ...     delta=0.8, confidence=0.9, n_audit=20, random_state=0,
    ... )
    >>> comparison
    Comparison(2 methods, 10 rows)
    >>> robustness = comparison.summary()["robustness"]
    >>> bool(robustness["betarce"] > robustness["growing-spheres"])
    True
    """
    chosen_methods = _named(methods)
    grid_of = check_grids(grids, chosen_methods)
    settings: dict[str, Any] = {
        "delta": delta,
        "confidence": confidence,
        "random_state": check_seed(random_state),
        "n_jobs": n_jobs,
    }
    ours = BetaRCE(model, space=space, base=base, features=features, verbose=verbose, **settings)
    ours.fit(X_train, y_train)
    arena = _Arena(ours, X_train, y_train, settings)
    chosen = arena.tune(chosen_methods, grid_of, verbose)
    audit = ours.fresh_members(n_audit)
    scene = _Scene.of(ours, rows, target)
    tables = []
    with progress("Comparing methods", total=len(chosen_methods), verbose=verbose) as advance:
        for name, method in chosen_methods.items():
            explained, seconds = arena.run(method, name, chosen.get(name, {}), scene)
            tables.append(scene.measure(name, explained, seconds, audit, delta))
            advance(1)
    return Comparison(pd.concat(tables, ignore_index=True), chosen, delta)


@dataclass(frozen=True, eq=False)
class _Scene:
    """Rows to be explained by every method."""

    problem: Problem
    originals: FloatArray
    names: "pd.Index[Any]"
    targets: BoolArray
    box: Box

    @classmethod
    def of(cls, rce: BetaRCE, rows: Any, target: Any) -> "_Scene":
        table = check_table(rows, what="rows")
        originals = rce.features_.encode(table, what="rows")
        labels = rce.problem_.model.labels(originals)
        if target is None and len(rce.classes_) > 2:
            raise InvalidInput(f"`target` must say which of the classes {rce.classes_.tolist()} is wanted.")
        targets = labels != rce.classes_ if target is None else accepted(target, rce.classes_, len(originals))
        return cls(rce.problem_, originals, row_names(table), targets, rce.features_.box(originals))

    def wanted(self) -> list[Any]:
        """Give the targets as a user would write them."""
        labels = [named(target, self.problem.model.classes) for target in self.targets]
        return [set(label) if isinstance(label, list) else label for label in labels]

    def measure(self, name: str, explained: Explained, seconds: float, audit: Ensemble, delta: float) -> pd.DataFrame:
        """Score what one method handed out; rows without an answer are blank."""
        features = self.problem.features
        found = np.flatnonzero(explained.found & self.problem.is_target(explained.points, self.targets))
        points, originals = explained.points[found], self.originals[found]
        robustness = audit.votes(points, self.targets[found]) / len(audit) if found.size else np.array([])
        near = [np.sort(features.distance(p, self.problem.X_train, norm="l2"))[:_NEIGHBOURS].mean() for p in points]
        scores = {
            "robustness": robustness,
            "covered": (robustness >= delta).astype(float),
            "proximity_l1": features.distance(points, originals),
            "proximity_l2": features.distance(points, originals, norm="l2"),
            "plausibility": np.array(near),
            "changed": features.differs(points, originals).sum(axis=1),
        }
        if explained.bases is not None:
            scores["distance_to_base"] = features.distance(points, explained.bases[found])
        table = pd.DataFrame({"method": name, "row": self.names, "found": 0.0})
        table.loc[found, "found"] = 1.0
        for column in _MEANS[1:-2]:
            table[column] = np.nan
            table.loc[found, column] = scores.get(column, np.nan)
        table["evaluations"] = explained.n_evaluations
        table["ms"] = 1000 * seconds / len(self.originals)
        missing = "The model does not give this point the target class."
        answered = np.isin(np.arange(len(table)), found)
        table["reason"] = [
            "" if ok else reason or missing for ok, reason in zip(answered, explained.reasons, strict=True)
        ]
        return table


@dataclass(frozen=True, eq=False)
class _Arena:
    """A fitted BetaRCE, whose model and members all methods share."""

    ours: BetaRCE
    X_train: Any
    y_train: Any
    settings: Mapping[str, Any]

    @property
    def seed(self) -> int:
        """The seed of the whole comparison."""
        return int(self.settings["random_state"])

    def run(self, method: Any, name: str, parameters: Mapping[str, Any], scene: _Scene) -> tuple[Explained, float]:
        """Let a method answer, and take the time."""
        if method in _OURS:
            rce = self.ours if method == "betarce" else self._paper()
            started = time.perf_counter()
            explained = _from_result(rce, scene)
        else:
            explainer = _configured(method, parameters)
            started = time.perf_counter()
            seeds = [derive(self.seed, name, row.tobytes()) for row in scene.originals + 0.0]
            explained = explainer.explain(scene.originals, scene.targets, scene.problem, scene.box, seeds)
        return explained, time.perf_counter() - started

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
        """Choose the configuration of highest empirical robustness, on rows and members that serve for nothing else."""
        if not grids:
            return {}
        judges = self.ours.fresh_members(_TUNING_MEMBERS, role="tune")
        scene = self._tuning_scene()
        chosen = {}
        total = sum(len(configurations(grid)) for grid in grids.values())
        with progress("Tuning methods", total=total, verbose=verbose) as advance:
            for name, grid in grids.items():
                best = -np.inf
                for parameters in configurations(grid):
                    explained, seconds = self.run(methods[name], f"tune/{name}", parameters, scene)
                    scores = scene.measure(name, explained, seconds, judges, self.ours.delta)
                    # A row without an answer is not robust: else a method that answers one easy row would win.
                    robustness = float(scores["robustness"].fillna(0.0).mean())
                    if robustness > best:
                        best, chosen[name] = robustness, parameters
                    advance(1)
        return chosen

    def _tuning_scene(self) -> _Scene:
        n = len(self.ours.problem_.X_train)
        rng = generator(self.seed, "tune")
        rows = np.sort(rng.choice(n, min(_TUNING_ROWS, n), replace=False))
        points = self.ours.problem_.X_train[rows]
        codes = np.searchsorted(self.ours.classes_, self.ours.problem_.model.labels(points)[:, 0])
        other = (codes[:, None] + 1) % len(self.ours.classes_) == np.arange(len(self.ours.classes_))
        return _Scene(self.ours.problem_, points, pd.RangeIndex(len(rows)), other, self.ours.features_.box(points))


def _from_result(rce: BetaRCE, scene: _Scene) -> Explained:
    """Read what BetaRCE handed out as any other method's answer."""
    result = rce.explain(scene.problem.features.decode(scene.originals), target=scene.wanted())
    found = result.certified
    robust = [item.points["robust"] for item in result]
    bases = [item.points["base"] for item in result]
    blank = np.full(scene.originals.shape[1], np.nan)
    return Explained(
        np.array([row if point is None else point for row, point in zip(scene.originals, robust, strict=True)]),
        found,
        [item.reason for item in result],
        np.array([item.n_evaluations for item in result]),
        np.array([blank if base is None else base for base in bases]),
    )


def _named(methods: Iterable[Any]) -> dict[str, Any]:
    if isinstance(methods, str):
        methods = [methods]
    chosen: dict[str, Any] = {}
    for method in methods:
        name, value = method if isinstance(method, tuple) and len(method) == 2 else (None, method)
        if isinstance(value, str) and value not in (*EXPLAINERS, *_OURS):
            raise InvalidInput(
                f"`methods` names {value!r}, which is unknown. Known: {', '.join((*_OURS, *EXPLAINERS))}."
            )
        checked = None if value in _OURS else check_explainer(value)  # before anything is trained
        if not isinstance(value, str):
            value = checked
        name = name or (value if isinstance(value, str) else type(value).__name__)
        if name in chosen:
            raise InvalidInput(f"`methods` has {name!r} twice. Give one of them another name: ('my name', method).")
        chosen[name] = value
    if not chosen:
        raise InvalidInput("`methods` must name at least one method; got none.")
    return chosen


def _configured(method: Any, parameters: Mapping[str, Any]) -> Explainer:
    explainer = check_explainer(method)
    assert explainer is not None
    if not parameters:
        return explainer
    changed: Explainer = replace(explainer, **parameters)  # type: ignore[type-var]
    return changed
