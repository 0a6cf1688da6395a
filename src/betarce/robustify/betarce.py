"""BetaRCE: from any counterfactual to one that survives retraining, with a certificate."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from betarce.arrays import BoolArray, FloatArray
from betarce.drawing import Draw, draw_members, warn_of_odd_members
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import Problem, check_explainer
from betarce.features import FeatureSpace, Rules, check_table, row_names
from betarce.models.recipe import Recipe, Table, check_labels
from betarce.posterior import Certificate, Guarantee, check_prior
from betarce.robustify.answers import Batch, answers
from betarce.robustify.bases import as_they_are, find_bases, settle
from betarce.robustify.certify import (
    Verdict,
    Verdicts,
    certificate_of,
    certify_points,
    check_disjoint,
    walk_ladders,
)
from betarce.robustify.model import check_answers, check_model, explained_model, probe_rows
from betarce.robustify.result import Result, RobustCounterfactual, Which, own_rules
from betarce.robustify.settings import check_features, role_sizes
from betarce.robustify.steer import Steering, Task, check_search
from betarce.robustify.tradeoff import Frontier, tradeoff
from betarce.search import GrowingSpheresSearch, Ladders
from betarce.seeding import check_seed, derive
from betarce.spaces import Given, check_space
from betarce.targets import accepted, named, plain


class BetaRCE(BaseEstimator):  # type: ignore[misc]
    """Make counterfactuals that survive retraining.

    Parameters
    ----------
    model : classifier
        Anything with `fit` and `predict`. Fitted: it is the model explained, and clones of it are retrained.
        Unfitted: `fit` trains it first.
    space : str or space
        How the model may be retrained: "seed", "bootstrap", "architecture", or an object such as
        `betarce.Bootstrap()`, `betarce.Architecture(ranges)`, `betarce.Mixture([...])`, `betarce.Custom(draw)`,
        `betarce.Given(models)`.
    base : str, explainer, callable or None
        What makes the base counterfactuals: "growing-spheres", an explainer, or any function
        `(x, model, target) -> point`. None starts from the instance itself.
    search : str or search
        How a robust point is sought around the base: "frontier", "growing-spheres" (the paper's Algorithm 2), or an
        object such as `betarce.FrontierSearch(norm="l2")`.
    certify_on : {"holdout", "search"}
        "holdout" certifies with members that the search never saw. "search" is the paper's way: the members that
        steered the search also certify, which is optimistic.
    delta : float
        The least share of retrained models under which the point must keep its class.
    confidence : float
        How sure that is, one-sided.
    n_models : "auto", int or pair of int
        Members for searching and for certifying. "auto" takes the smallest number whose quorum allows one dissent.
    prior : str, pair or Prior
        "jeffreys", "uniform", "exact" (a guarantee for every true rate), or (a, b).
    features : FeatureSpace, mapping of column to rule, path, or None
        What may change, such as {"age": betarce.immutable()}, or a TOML or YAML file that says so (see
        `betarce.read_rules`); everything within the training range by default.
    random_state : int, numpy generator or None
        The same int gives the same answer, for any `n_jobs`.
    n_jobs : int or None
        Workers that train members, as in joblib.
    verbose : int
        0: a progress bar on a terminal. 1: also a line in logs. -1: nothing.

    Attributes
    ----------
    model_ : classifier
        The model explained.
    search_members_, certifying_members_ : Ensemble
        The retrained models that steer and those that decide; None for the latter with `certify_on="search"`.
    features_ : FeatureSpace
    classes_ : array
    guarantee_ : Guarantee
    problem_ : Problem
        What explainers are told: the model, the features, the training rows.
    n_redrawn_ : int
        Bootstrap samples that lost a class and were drawn again.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> rce = BetaRCE(model, space="bootstrap", delta=0.8, confidence=0.9, random_state=0).fit(X, y)
    >>> result = rce.explain(X[:3])
    >>> result
    Result(3 rows: 3 certified)
    >>> print(result[0].certificate)
    14 of 15 fresh models agree: valid for >= 80.8 % with 90 % confidence
    """

    def __init__(
        self,
        model: Any,
        *,
        space: Any = "bootstrap",
        base: Any = "growing-spheres",
        search: Any = "frontier",
        certify_on: str = "holdout",
        delta: float = 0.9,
        confidence: float = 0.95,
        n_models: Any = "auto",
        prior: Any = "jeffreys",
        features: FeatureSpace | Rules | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.model = model
        self.space = space
        self.base = base
        self.search = search
        self.certify_on = certify_on
        self.delta = delta
        self.confidence = confidence
        self.n_models = n_models
        self.prior = prior
        self.features = features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> "BetaRCE":
        """Train the model if need be, then draw and train the members.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            The training table, as the model sees it.
        y : Series or array of shape (n,)
            The labels.
        """
        self._check_parameters()
        table = check_table(X)
        self.features_ = check_features(self.features, table)
        points = self.features_.encode(table)
        labels = check_labels(y, len(points))
        self._seed = check_seed(self.random_state)
        self._table = Table(table, labels)
        check_model(self.model)
        self.model_ = explained_model(self.model, self._table, derive(self._seed, "model"))
        self.classes_ = np.unique(np.asarray(getattr(self.model_, "classes_", labels)))
        self._probe = probe_rows(points, self.features_)
        model = self._ensemble([self.model_])  # a model that cannot answer says so before an hour of training
        self.problem_ = Problem(model, self.features_, points, np.asarray(labels))
        self._draw_members()
        return self

    def explain(self, X: Any, target: Any = None, base_points: Any = None, *, overrides: Any = None) -> Result:
        """Find a certified counterfactual for each row.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            The rows to explain; a single row may be a Series.
        target : label, set of labels, or one of either a row, optional
            The class wanted, for all rows or one a row; a set accepts any of its classes. Optional for two classes: the
            other one.
        base_points : DataFrame or array of shape (n, d), optional
            Ready-made counterfactuals from any other tool, to be used instead of `base`.
        overrides : mapping of row name to rules, optional
            What holds for single rows instead of `features`: ``{17: {"income": betarce.immutable()}}``.

        Returns
        -------
        Result
            One `RobustCounterfactual` a row; a row without an answer says why in its `status` and `reason`.
        """
        check_is_fitted(self)
        started = time.perf_counter()
        batch, ladders = self._ladders(X, target, base_points, overrides)
        walks = walk_ladders(ladders, batch.targets, self._voters(), self.guarantee_)
        items = answers(batch, ladders, walks, self.features_, self._certificate, self.classes_)
        share = (time.perf_counter() - started) / len(items)
        own = own_rules(self._overrides(overrides, batch.names), len(items))
        timed = [replace(item, runtime_s=share, overrides=rules) for item, rules in zip(items, own, strict=True)]
        return Result(timed, self.features_)

    def frontier(self, x: Any, target: Any = None, base_points: Any = None, *, overrides: Any = None) -> Frontier:
        """Show what more robustness costs for one row.

        Parameters
        ----------
        x : Series, or a table or array of one row
        target, base_points, overrides : optional
            As in `explain`.

        Returns
        -------
        Frontier
            Distance against certified lower bound, as a table (`to_frame`) and as a picture (`plot`), with the point
            that `explain` hands out, the base, and the point that the paper's search finds with the same members.
        """
        check_is_fitted(self)
        batch, ladders = self._ladders(x, target, base_points, overrides)
        if len(batch.targets) != 1:
            raise InvalidInput(f"`x` must be a single row; got {len(batch.targets)}.")
        quorum = self.guarantee_.quorum(len(self.search_members_))
        paper = Steering(GrowingSpheresSearch(), self.problem_, self.search_members_, quorum)
        return tradeoff(batch, ladders, paper.ladders(batch.task), self._voters(), self.guarantee_, self.features_)

    def certify(self, points: Any, target: Any) -> Verdicts:
        """Give a verdict on counterfactuals from any other tool.

        With `certify_on="holdout"` the certifying members vote. Points that were chosen by looking at earlier
        verdicts of the same members are no longer fresh to them: fit again with another seed.

        Parameters
        ----------
        points : DataFrame or array of shape (n, d)
            The counterfactuals, exactly as they would be handed out.
        target : label, set of labels, or one of either a row
            The class they should have.
        """
        check_is_fitted(self)
        rows, index = self._rows(points, what="points")
        targets = accepted(target, self.classes_, len(rows))
        votes = certify_points(
            rows, targets, self._voters(), self.guarantee_, steered=self._steered, space=repr(self._space)
        )
        agrees = self.problem_.is_target(rows, targets)
        return Verdicts([Verdict(vote, bool(agree)) for vote, agree in zip(votes, agrees, strict=True)], index)

    def audit(self, result: Result, n_models: int = 200) -> pd.DataFrame:
        """Measure on fresh members, which nothing has seen, what was promised.

        Parameters
        ----------
        result : Result
            What `explain` returned.
        n_models : int
            Members to draw and train.

        Returns
        -------
        DataFrame
            One line a row: "promised" (the lower bound), "robust" and "base" (the share of the fresh members under
            which each is valid); NaN where there is no such point.
        """
        check_is_fitted(self)
        fresh = self.fresh_members(n_models)
        promised = [
            item.certificate.lower_bound if item.status == "certified" and item.certificate else np.nan
            for item in result
        ]
        columns = {which: [self._validity(item, which, fresh) for item in result] for which in ("robust", "base")}
        return pd.DataFrame({"promised": promised, **columns}, index=result.row_names)

    def fresh_members(self, n_models: int, *, role: str = "audit") -> Ensemble:
        """Draw and train further members of the space, which nothing has seen.

        Parameters
        ----------
        n_models : int
        role : str
            What they are for; another role gives other members.
        """
        check_is_fitted(self)
        if isinstance(self._space, Given):
            raise InvalidInput(
                "An audit needs fresh models, and Given(models) has none left to draw. Keep some of your models aside "
                "and ask them, for instance with betarce.empirical_robustness."
            )
        if role in ("search", "certify"):
            raise InvalidInput(f"`role` must not be {role!r}: those members are taken.")
        return self._ensemble(self._draw({role: n_models})[role].models)

    # Fitting

    def _check_parameters(self) -> None:
        self.guarantee_ = Guarantee(self.delta, self.confidence, check_prior(self.prior))
        self._space = check_space(self.space)
        check_explainer(self.base)
        self._finder = check_search(self.search)
        self._sizes = role_sizes(self.n_models, self.certify_on, self.guarantee_, self._space)

    def _draw(self, sizes: Mapping[str, int]) -> dict[str, Draw]:
        return draw_members(
            self._space,
            Recipe(self.model_),
            self._table,
            sizes,
            seed=self._seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _draw_members(self) -> None:
        draws = self._draw(self._sizes)
        self.n_redrawn_ = sum(draw.redrawn for draw in draws.values())
        self.search_members_ = self._ensemble(draws["search"].models)
        self.certifying_members_ = self._ensemble(draws["certify"].models) if "certify" in draws else None
        if self.certifying_members_ is not None:
            check_disjoint(self.search_members_, self.certifying_members_)
        # A point at the edge of the quorum would fail a second vote about every other time.
        n = len(self.search_members_)
        quorum = self.guarantee_.quorum(n) if self.certifying_members_ is None else n
        self._steering = Steering(self._finder, self.problem_, self.search_members_, quorum)
        roles = [self.search_members_, *([self.certifying_members_] if self.certifying_members_ else [])]
        warn_of_odd_members(roles, self.problem_.X_train, self._space, self.model_)

    def _ensemble(self, models: list[object]) -> Ensemble:
        ensemble = Ensemble(models, self.classes_, features=self.features_, probe=self._probe)
        check_answers(ensemble, self._probe)
        return ensemble

    # Explaining

    def _ladders(self, X: Any, target: Any, base_points: Any, overrides: Any) -> tuple[Batch, Ladders]:
        """Find the base of every row, then the ladder that leads up from it."""
        originals, names = self._rows(X)
        targets = self._targets(target, originals)
        box = self.features_.box(originals, self._overrides(overrides, names))
        if base_points is not None:
            given = self.features_.encode(base_points, what="base_points")
            if len(given) != len(originals):
                raise InvalidInput(
                    f"`base_points` must have one row a row of `X` ({len(originals)}); got {len(given)}."
                )
            based, notes = settle(as_they_are(given), targets, self.problem_, box)
        elif (explainer := check_explainer(self.base)) is None:
            based, notes = as_they_are(originals), [""] * len(originals)
        else:
            seeds = self._seeds(originals, targets, "base")
            found = find_bases(explainer, self.problem_, originals, targets, box, seeds, np.flatnonzero(box.possible))
            based, notes = settle(found, targets, self.problem_, box)
        task = Task(based.points, targets, box, self._seeds(originals, targets, "search"))
        batch = Batch(originals, names, task, based, notes)
        rows = batch.searchable
        if rows.size == len(targets):
            return batch, self._steering.ladders(task)
        if not rows.size:
            return batch, Ladders.none(len(targets), originals.shape[1])
        return batch, self._steering.ladders(task.take(rows)).spread(rows, len(targets))

    def _rows(self, X: Any, what: str = "X") -> tuple[FloatArray, "pd.Index[Any]"]:
        table = check_table(X, what=what)
        return self.features_.encode(table, what=what), row_names(table)

    def _overrides(self, overrides: Any, names: "pd.Index[Any]") -> list[Rules | None] | None:
        if overrides is None:
            return None
        if not isinstance(overrides, Mapping):
            raise InvalidInput(f"`overrides` must map row names to rules by column; got {overrides!r}.")
        unknown = [name for name in overrides if name not in names]
        if unknown:
            raise InvalidInput(f"`overrides` names the row {unknown[0]!r}, which `X` lacks.")
        return [overrides.get(name) for name in names]

    def _targets(self, target: Any, originals: FloatArray) -> BoolArray:
        current = np.searchsorted(self.classes_, self.problem_.model.labels(originals)[:, 0])
        if target is None:
            if len(self.classes_) > 2:
                raise InvalidInput(
                    f"`target` must say which of the {len(self.classes_)} classes is wanted: {self.classes_.tolist()}. "
                    "A set of classes accepts any of them."
                )
            return np.asarray(current[:, None] != np.arange(2))
        targets = accepted(target, self.classes_, len(originals))
        there = np.flatnonzero(targets[np.arange(len(current)), current])
        if there.size:
            raise InvalidInput(
                f"`target` must differ from what the model answers already; row {there[0]} is in class "
                f"{plain(self.classes_[current[there[0]]])!r} ({there.size} of {len(originals)} rows in all). Leave "
                "such rows out."
            )
        return targets

    def _seeds(self, originals: FloatArray, targets: BoolArray, purpose: str) -> list[int]:
        """Give each row a seed by what it is, not by where it stands: a batch's composition changes nothing."""
        return [
            derive(self._seed, purpose, row.tobytes(), target.tobytes())
            for row, target in zip(originals + 0.0, targets, strict=True)
        ]

    @property
    def _steered(self) -> bool:
        return self.certifying_members_ is None

    def _voters(self) -> Ensemble:
        return self.search_members_ if self.certifying_members_ is None else self.certifying_members_

    def _certificate(self, point: FloatArray, target: BoolArray, n_agree: int) -> Certificate:
        return certificate_of(
            point,
            named(target, self.classes_),
            n_agree,
            len(self._voters()),
            self.guarantee_,
            steered=self._steered,
            space=repr(self._space),
        )

    def _validity(self, item: RobustCounterfactual, which: Which, members: Ensemble) -> float:
        point = item.points[which]
        if point is None:
            return np.nan
        wanted = np.isin(self.classes_, item.target)[None]
        return float(members.votes(point[None], wanted)[0] / len(members))
