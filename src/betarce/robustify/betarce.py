"""BetaRCE: from any counterfactual to one that survives retraining, with a certificate."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.checks import check_n_jobs
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import Closest, Explainer, Problem, check_explainer
from betarce.features import FeatureSpace, Rules, check_table, row_names
from betarce.features.alignment import aligned_rows, aligned_values
from betarce.members import Draw, draw_members, warn_of_odd_members
from betarce.models.recipe import Recipe, Table, check_labels
from betarce.posterior import Certificate, Guarantee, check_prior, check_vote_decides
from betarce.results.result import Result, RobustCounterfactual, Which, own_rules
from betarce.robustify.bases import as_they_are, find_bases, settle, with_fallback
from betarce.robustify.batch import Batch, overrides_by_row, readable_rows, wanted
from betarce.robustify.blocking import advice
from betarce.robustify.certify import (
    Verdict,
    Verdicts,
    certificate_of,
    certify_points,
    check_disjoint,
    walk_ladders,
)
from betarce.robustify.model import check_answers, check_model, explained_model, probe_rows
from betarce.robustify.params import HONOURED, NEED_FIT, changed, refuse_changed, snapshot
from betarce.robustify.settings import check_features
from betarce.robustify.sizes import announcement, role_sizes
from betarce.robustify.statuses import answers
from betarce.robustify.statuses import unreadable as unreadable_row
from betarce.robustify.steer import Steering, Task, check_search
from betarce.robustify.tradeoff import Frontier, tradeoff
from betarce.search import FrontierSearch, GrowingSpheresSearch, Ladders
from betarce.seeding import check_seed, derive
from betarce.spaces import Given, check_space
from betarce.targets import accepted, named

_STUCK = ("base-not-found", "not-found", "infeasible")
_ADVISED = 3  # rows without an answer for which the rules in the way are looked for


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
        None: the certified point is the closest to the person, and `result.base` is the closest plain counterfactual,
        for contrast. A name such as "growing-spheres", an explainer, or any function `(x, model, target) -> point`: the
        certified point is the closest to that base, as in the paper.
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
    n_models : "few", "auto", "many", int or pair of int
        Members for searching and for certifying. "auto" takes about 100 that certify (300 for linear models), "few" the
        smallest number that allows one dissent, "many" about 300. More certifying members buy closer points, and
        promises that hold in every fit. An int is for each of the two roles.
    prior : str, pair or Prior
        "exact" (a guarantee for every true rate), "jeffreys", "uniform", or (a, b). With `certify_on="search"`, "exact"
        stands for the paper's prior, "jeffreys"; `Prior(0, 1)` insists.
    features : FeatureSpace, mapping of column to rule, path, or None
        What may change, such as {"age": betarce.immutable()}, or a TOML or YAML file that says so (see
        `betarce.read_rules`); everything within the training range by default.
    max_changes : int or None
        How many features of a row may change; None for no limit.
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
    266 of 302 fresh models agree: valid for >= 85.3 % with 90 % confidence
    """

    def __init__(
        self,
        model: Any,
        *,
        space: Any = "bootstrap",
        base: Any = None,
        search: Any = "frontier",
        certify_on: str = "holdout",
        delta: float = 0.9,
        confidence: float = 0.95,
        n_models: Any = "auto",
        prior: Any = "exact",
        features: FeatureSpace | Rules | None = None,
        max_changes: int | None = None,
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
        self.max_changes = max_changes
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
        guarantee, search = self._guarantee(), check_search(self.search)
        self._space = check_space(self.space)
        check_explainer(self.base)
        check_n_jobs(self.n_jobs)
        table = check_table(X)
        features = check_features(self.features, table, self.max_changes)
        labels = check_labels(y, len(table))
        self._seed = check_seed(self.random_state)
        self._table = Table(table, labels)
        check_model(self.model)
        self.model_ = explained_model(self.model, self._table, derive(self._seed, "model"))
        self.classes_ = np.unique(np.asarray(getattr(self.model_, "classes_", labels)))
        points = features.encode(table)
        self._probe = probe_rows(points, features)
        self.features_ = features
        model = self._ensemble([self.model_])  # a model that cannot answer says so before an hour of training
        sizes = role_sizes(self.n_models, self.certify_on, guarantee, self._space, model.kind)
        kind = model.kind
        draws = self._draw(sizes, lambda seconds: announcement(self.n_models, sizes, guarantee, kind, seconds))
        self.n_redrawn_ = sum(draw.redrawn for draw in draws.values())
        self.search_members_: Ensemble = self._ensemble(draws["search"].models)
        self.certifying_members_: Ensemble | None = None
        if "certify" in draws:
            self.certifying_members_ = self._ensemble(draws["certify"].models)
            check_disjoint(self.search_members_, self.certifying_members_)
        self._looked, self._n_extended = False, 0
        self._fitted_with = snapshot(self, NEED_FIT)
        self._honoured = snapshot(self, HONOURED)
        self._set_up(guarantee, search, features)
        roles = [self.search_members_, *([self.certifying_members_] if self.certifying_members_ else [])]
        self._varied = warn_of_odd_members(roles, self.problem_.X_train, self._space, self.model_)
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
        self._refresh()
        started = time.perf_counter()
        table = check_table(X)
        points, unreadable = readable_rows(self.features_, table, "X")
        names = row_names(table)
        kept = np.setdiff1d(np.arange(len(names)), list(unreadable))
        answered: Iterator[RobustCounterfactual] = iter(())
        if kept.size:
            target = aligned_values(target, table, what="target")
            base_points = aligned_rows(base_points, table, what="base_points")
            batch, ladders = self._ladders(points, names, kept, target, base_points, overrides)
            walks = walk_ladders(ladders, batch.targets, self._voters(), self.guarantee_)
            found = answers(batch, ladders, walks, self.features_, self._certificate, self._voters())
            answered = iter(self._with_advice(found, batch))
        items = [
            unreadable_row(name, unreadable[i], self.features_) if i in unreadable else next(answered)
            for i, name in enumerate(names)
        ]
        share = (time.perf_counter() - started) / len(items)
        own = own_rules(overrides_by_row(overrides, names), len(items))
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
        self._refresh()
        table = check_table(x, what="x")
        if len(table) != 1:
            raise InvalidInput(f"`x` must be a single row; got {len(table)}.")
        point = self.features_.encode(table, what="x")
        batch, ladders = self._ladders(point, row_names(table), np.arange(1), target, base_points, overrides)
        n = len(self.search_members_)
        # Few members can steer, but not certify: then the paper's search asks all of them.
        quorum = self.guarantee_.quorum(n) if n >= self.guarantee_.min_models() else n
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
        self._refresh()
        table = check_table(points, what="points")
        rows, index = self.features_.encode(table, what="points"), row_names(table)
        targets = accepted(aligned_values(target, table, what="target"), self.classes_, len(rows))
        self._looked = True
        votes = certify_points(
            rows,
            targets,
            self._voters(),
            self.guarantee_,
            steered=self._steered,
            space=repr(self._space),
            varied=self._varied,
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
        self._refresh()
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
                "and ask them, for instance with betarce.metrics.empirical_robustness."
            )
        if role in ("search", "certify"):
            raise InvalidInput(f"`role` must not be {role!r}: those members are taken.")
        if isinstance(n_models, bool) or not isinstance(n_models, (int, np.integer)) or n_models < 1:
            raise InvalidInput(f"`n_models` must be a whole number >= 1; got {n_models!r}.")
        return self._ensemble(self._draw({role: n_models})[role].models)

    def extend(self, n_models: int) -> "BetaRCE":
        """Draw and train further certifying members.

        As long as nothing has been explained or certified, they join those that are there. After that, the votes of
        those have been looked at, and a second look at the same votes would break the promise: then the new members
        alone certify from now on, and the earlier ones retire.

        Parameters
        ----------
        n_models : int
            How many; `Guarantee.efficient_size` says which numbers waste no vote.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> rce = BetaRCE(LogisticRegression(max_iter=5000), n_models=(10, 46), random_state=0, verbose=-1)
        >>> rce = rce.fit(X[:, :4], y)
        >>> len(rce.extend(57).certifying_members_)  # 46 + 57, nobody has looked yet
        103
        """
        self._refresh()
        if self.certifying_members_ is None or isinstance(self._space, Given):
            why = (
                "Given(models) has none left to draw"
                if isinstance(self._space, Given)
                else "the search members certify"
            )
            raise InvalidInput(f"`extend` needs a space to draw certifying members from, but {why}. Fit anew instead.")
        if isinstance(n_models, bool) or not isinstance(n_models, (int, np.integer)) or n_models < 1:
            raise InvalidInput(f"`n_models` must be a whole number >= 1; got {n_models!r}.")
        kept = [] if self._looked else self.certifying_members_.models
        self.guarantee_.quorum(len(kept) + int(n_models))  # before anything is trained
        self._n_extended += 1
        role = f"certify/{self._n_extended}"
        self.certifying_members_ = self._ensemble([*kept, *self._draw({role: int(n_models)})[role].models])
        self._looked = False
        return self

    # Fitting

    def _guarantee(self) -> Guarantee:
        prior = "jeffreys" if self.certify_on == "search" and self.prior == "exact" else self.prior
        guarantee = Guarantee(self.delta, self.confidence, check_prior(prior))
        check_vote_decides(guarantee)
        return guarantee

    def _set_up(self, guarantee: Guarantee, search: Any, features: FeatureSpace) -> None:
        """Put everything in place that needs no training."""
        n = len(self.search_members_)
        # A point at the edge of the quorum would fail a second vote about every other time.
        quorum = guarantee.quorum(n) if self.certifying_members_ is None else n
        guarantee.quorum(len(self._voters()))
        points = features.encode(self._table.X)
        problem = Problem(self._ensemble([self.model_]), features, points, np.asarray(self._table.y))
        self._steering = Steering(search, problem, self.search_members_, quorum)
        self.guarantee_: Guarantee = guarantee
        self.features_ = features
        self.problem_: Problem = problem
        self._finder = search

    def _refresh(self) -> None:
        """Honour parameters that were changed after `fit`, or say that they need a new one."""
        check_is_fitted(self)
        refuse_changed(self._fitted_with, snapshot(self, NEED_FIT))
        now = snapshot(self, HONOURED)
        if not changed(self._honoured, now):
            return
        features = self.features_
        if set(changed(self._honoured, now)) & {"features", "max_changes"}:
            features = check_features(self.features, self._table.X, self.max_changes)
            if not features.reads_like(self.features_):
                raise InvalidInput(
                    "`features` was changed after `fit` and says that columns are something else than the members were "
                    "trained with: call `fit` again. Rules on how values may move can be changed without it."
                )
        check_explainer(self.base)
        self._set_up(self._guarantee(), check_search(self.search), features)
        self._honoured = now

    def _draw(self, sizes: Mapping[str, int], announce: Callable[[float], str] | None = None) -> dict[str, Draw]:
        return draw_members(
            self._space,
            Recipe(self.model_),
            self._table,
            sizes,
            seed=self._seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            announce=announce,
        )

    def _ensemble(self, models: list[object]) -> Ensemble:
        ensemble = Ensemble(models, self.classes_, features=self.features_, probe=self._probe)
        check_answers(ensemble, self._probe)
        return ensemble

    # Explaining

    def _ladders(
        self,
        originals: FloatArray,
        names: "pd.Index[Any]",
        kept: IntArray,
        target: Any,
        base_points: Any,
        overrides: Any,
    ) -> tuple[Batch, Ladders]:
        """Find the base of every row that was kept, then the ladder that leads up from where its search starts."""
        self._looked = True
        current = np.searchsorted(self.classes_, self.problem_.model.labels(originals)[:, 0])
        everyone = np.zeros(len(names), dtype=np.intp)
        everyone[kept] = current
        targets, there = (part[kept] for part in wanted(target, everyone, self.classes_))
        rules = overrides_by_row(overrides, names)
        box = self.features_.box(originals, None if rules is None else [rules[i] for i in kept])
        helped: dict[int, str] = {}
        if base_points is not None:
            table = check_table(base_points, what="base_points")
            if len(table) != len(names):
                raise InvalidInput(f"`base_points` must have one row per row of `X` ({len(names)}); got {len(table)}.")
            given = self.features_.encode(table, what="base_points")[kept]
            found = as_they_are(given)
        else:
            seeds = self._seeds(originals, targets, "base")
            open_ = np.flatnonzero(box.possible & ~there)
            asked = self.problem_, originals, targets, box, seeds, open_
            found = find_bases(self._explainer(), *asked)
            if isinstance(self.base, str):
                found, helped = with_fallback(found, *asked)
        based, notes = settle(found, targets, self.problem_, box)
        notes = [helped.get(i, note) for i, note in enumerate(notes)]
        post_hoc = base_points is not None or self.base is not None
        starts = based.points if post_hoc else originals
        task = Task(starts, targets, box, self._seeds(originals, targets, "search"))
        batch = Batch(originals, names[kept], task, based, notes, there, post_hoc)
        rows = batch.searchable
        if rows.size == len(targets):
            return batch, self._steering.ladders(task)
        if not rows.size:
            return batch, Ladders.none(len(targets), originals.shape[1])
        return batch, self._steering.ladders(task.take(rows)).spread(rows, len(targets))

    def _with_advice(self, items: list[RobustCounterfactual], batch: Batch) -> list[RobustCounterfactual]:
        """Tell the first rows without any candidate which rules stand in the way; the others likely have the same."""
        stuck = [i for i, item in enumerate(items) if item.status in _STUCK and item.certificate is None]
        for i in stuck[:_ADVISED]:
            why = advice(self.problem_, batch.originals[i], batch.targets[i])
            items[i] = replace(items[i], reason=items[i].reason + why)
        return items

    def _explainer(self) -> Explainer:
        """Give what makes the bases: the method asked for, or the closest plain counterfactual, for contrast."""
        explainer = check_explainer(self.base)
        if explainer is not None:
            return explainer
        return Closest(self._finder) if isinstance(self._finder, FrontierSearch) else Closest()

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
            varied=self._varied,
        )

    def _validity(self, item: RobustCounterfactual, which: Which, members: Ensemble) -> float:
        point = item.points[which]
        if point is None:
            return np.nan
        wanted = np.isin(self.classes_, item.target)[None]
        return float(members.votes(point[None], wanted)[0] / len(members))
