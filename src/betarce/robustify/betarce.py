"""BetaRCE: from any counterfactual to one that survives retraining, with a certificate."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.checks import check_n_jobs, check_verbose
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import Closest, Explainer, Problem, check_explainer
from betarce.features import FeatureSpace, Rules, check_table, row_names
from betarce.features.alignment import aligned_rows, aligned_values
from betarce.members import Draw, Members, draw_members
from betarce.models.recipe import Recipe, Table, check_labels
from betarce.posterior import Certificate, Guarantee, check_prior, check_vote_decides
from betarce.results.ladder import least_quorum
from betarce.results.made_with import MadeWith, made_with
from betarce.results.result import Result, RobustCounterfactual, Which, own_rules
from betarce.robustify.bases import as_they_are, find_bases, settle, with_fallback
from betarce.robustify.batch import Batch, overrides_by_row, readable_rows, wanted
from betarce.robustify.blocking import advice
from betarce.robustify.certify import (
    Verdict,
    Verdicts,
    certificate_of,
    certify_points,
    walk_ladders,
)
from betarce.robustify.model import check_model, explained_model
from betarce.robustify.params import HONOURED, NEED_FIT, changed, refuse_changed, snapshot
from betarce.robustify.settings import check_features
from betarce.robustify.sizes import announcement, role_sizes
from betarce.robustify.statuses import answers
from betarce.robustify.statuses import unreadable as unreadable_row
from betarce.robustify.steer import Steering
from betarce.robustify.subject import Subject
from betarce.robustify.tradeoff import Frontier, tradeoff
from betarce.search import GrowingSpheresSearch, Ladders, Search, Task, check_search
from betarce.search.protocol import Climber
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
        object such as `betarce.FrontierSearch(norm="l2")`; anything with `ladders(task, goal)` will do.
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
    members_ : Members
        The retrained models by role: `members_.search` steer, `members_.certifying` decide (None with
        `certify_on="search"`), `members_.audit` measure, once `audit` was called; and how they were drawn.
    features_ : FeatureSpace
    classes_ : array
    guarantee_ : Guarantee
    problem_ : Problem
        What explainers are told: the model, the features, the training rows.
    subject_ : Subject
        The model explained, its training table, and its features.
    seed_ : int
        What every row's own seed is derived from.

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
        guarantee = self._guarantee()
        check_search(self.search)
        space = check_space(self.space)
        check_explainer(self.base)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        raw = check_table(X)
        features = check_features(self.features, raw, self.max_changes)
        table, seed = Table(raw, check_labels(y, len(raw))).copy(), check_seed(self.random_state)
        check_model(self.model)
        model = explained_model(self.model, table, derive(seed, "model"))
        subject = Subject(model, table, features)
        kind = subject.problem.model.kind  # a model that cannot answer says so before an hour of training
        sizes = role_sizes(self.n_models, self.certify_on, guarantee, space, kind)
        draws = draw_members(
            space,
            Recipe(model),
            table,
            sizes,
            seed=seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            announce=lambda seconds: announcement(self.n_models, sizes, guarantee, kind, seconds),
        )
        return self.fit_with(subject, subject.members(draws, space=space, seed=seed), seed=seed)

    def fit_with(self, subject: Subject, members: Members, *, seed: int) -> "BetaRCE":
        """Take a trained model and members that exist already: nothing is trained.

        `fit` ends here, and so does whatever loads a fitted explainer or shares members among several: the same
        parameters, subject, members and seed explain to the same bits.

        Parameters
        ----------
        subject : Subject
            The model explained, its training table, and its features.
        members : Members
            The retrained models by role; with `certify_on="search"` none that certify.
        seed : int
            What every row's own seed is derived from.
        """
        if members.steered != (self.certify_on == "search"):
            there = "none" if members.steered else f"{len(members.voters)}"
            raise InvalidInput(
                f"`members` must have certifying members exactly if `certify_on` is 'holdout'; got {there} with "
                f"certify_on={self.certify_on!r}."
            )
        check_explainer(self.base)
        self.subject_, self.members_, self.seed_ = subject, members, seed
        self.model_, self.classes_ = subject.model, subject.classes
        self._fitted_with = snapshot(self, NEED_FIT)
        self._honoured = snapshot(self, HONOURED)
        self._set_up(self._guarantee(), check_search(self.search), subject)
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
            voters = self.members_.voters
            least = least_quorum(self.guarantee_, len(voters))
            walks = walk_ladders(ladders, batch.targets, voters, self.guarantee_, least=least)
            found = answers(batch, ladders, walks, self.features_, self._certificate, voters)
            answered = iter(self._with_advice(found, batch))
        items = [
            unreadable_row(name, unreadable[i], self.features_) if i in unreadable else next(answered)
            for i, name in enumerate(names)
        ]
        share = (time.perf_counter() - started) / len(items)
        own = own_rules(overrides_by_row(overrides, names), len(items))
        timed = [replace(item, runtime_s=share, overrides=rules) for item, rules in zip(items, own, strict=True)]
        return Result(timed, self.features_, self._made_with())

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
        n = len(self.members_.search)
        # Few members can steer, but not certify: then the paper's search asks all of them.
        quorum = self.guarantee_.quorum(n) if n >= self.guarantee_.min_models() else n
        paper = Steering(GrowingSpheresSearch(), self.problem_, self.members_.search, quorum)
        found = paper.ladders(batch.task, batch.targets)
        return tradeoff(batch, ladders, found, self.members_.voters, self.guarantee_, self.features_)

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
        self.members_ = self.members_.looked_at()
        votes = certify_points(
            rows,
            targets,
            self.members_.voters,
            self.guarantee_,
            steered=self.members_.steered,
            space=repr(self.members_.space),
            varied=self.members_.varied,
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
        fresh = self._auditors(n_models)
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
        return self._ensemble(self.fresh_draw(n_models, role=role))

    def fresh_draw(self, n_models: int, *, role: str = "audit") -> Draw:
        """Draw further models as `fresh_members` does, each with its name and seed."""
        self._refresh()
        if isinstance(self.members_.space, Given):
            raise InvalidInput(
                "An audit needs fresh models, and Given(models) has none left to draw. Keep some of your models aside "
                "and ask them, for instance with betarce.metrics.empirical_robustness."
            )
        if role.split("/")[0] in ("search", "certify"):
            raise InvalidInput(f"`role` must not be {role!r}: those members are taken.")
        return self._draw(role, _check_count(n_models))

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
        >>> len(rce.extend(57).members_.certifying)  # 46 + 57, nobody has looked yet
        103
        """
        self._refresh()
        members = self.members_
        if members.certifying is None or isinstance(members.space, Given):
            why = "the search members certify" if members.certifying is None else "Given(models) has none left to draw"
            raise InvalidInput(f"`extend` needs a space to draw certifying members from, but {why}. Fit anew instead.")
        n, kept = _check_count(n_models), members.draw_of("certifying")
        if members.looked:
            kept = kept.take([])
        self.guarantee_.quorum(len(kept) + n)  # before anything is trained
        drawn = kept + self._draw(f"certify/{members.n_extensions + 1}", n)
        self.members_ = members.with_certifying(self._ensemble(drawn), drawn.origins)
        return self

    # Fitting

    def _guarantee(self) -> Guarantee:
        prior = "jeffreys" if self.certify_on == "search" and self.prior == "exact" else self.prior
        guarantee = Guarantee(self.delta, self.confidence, check_prior(prior))
        check_vote_decides(guarantee)
        return guarantee

    def _set_up(self, guarantee: Guarantee, search: Search, subject: Subject) -> None:
        """Put everything in place that needs no training."""
        n = len(self.members_.search)
        # A point at the edge of the quorum would fail a second vote about every other time.
        quorum = guarantee.quorum(n) if self.members_.steered else n
        guarantee.quorum(len(self.members_.voters))
        self._steering = Steering(search, subject.problem, self.members_.search, quorum)
        self.guarantee_: Guarantee = guarantee
        self.features_: FeatureSpace = subject.features
        self.problem_: Problem = subject.problem
        self.subject_ = subject
        self._finder = search

    def _refresh(self) -> None:
        """Honour parameters that were changed after `fit`, or say that they need a new one."""
        check_is_fitted(self)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        refuse_changed(self._fitted_with, snapshot(self, NEED_FIT))
        now = snapshot(self, HONOURED)
        if not changed(self._honoured, now):
            return
        subject = self.subject_
        if set(changed(self._honoured, now)) & {"features", "max_changes"}:
            features = check_features(self.features, subject.table.X, self.max_changes)
            if not features.reads_like(self.features_):
                raise InvalidInput(
                    "`features` was changed after `fit` and says that columns are something else than the members were "
                    "trained with: call `fit` again. Rules on how values may move can be changed without it."
                )
            subject = replace(subject, features=features)
        check_explainer(self.base)
        self._set_up(self._guarantee(), check_search(self.search), subject)
        self._honoured = now

    def _draw(self, role: str, n: int) -> Draw:
        drawn = draw_members(
            self.members_.space,
            Recipe(self.model_),
            self.subject_.table,
            {role: n},
            seed=self.members_.seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        return drawn[role]

    def _ensemble(self, drawn: Draw) -> Ensemble:
        return self.subject_.ensemble(drawn.models)

    def _auditors(self, n_models: int) -> Ensemble:
        """Give audit members: those that are there if they are as many, else fresh ones."""
        audit = self.members_.audit
        if audit is None or len(audit) != _check_count(n_models):
            drawn = self.fresh_draw(n_models)
            audit = self._ensemble(drawn)
            self.members_ = self.members_.with_audit(audit, drawn.origins)
        return audit

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
        self.members_ = self.members_.looked_at()
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
        task = Task(starts, self.features_, box, self._seeds(originals, targets, "search"))
        batch = Batch(originals, names[kept], task, targets, based, notes, there, post_hoc)
        rows = batch.searchable
        if rows.size == len(targets):
            return batch, self._steering.ladders(task, targets)
        if not rows.size:
            return batch, Ladders.none(len(targets), originals.shape[1])
        return batch, self._steering.ladders(task.take(rows), targets[rows]).spread(rows, len(targets))

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
        return Closest(self._finder) if isinstance(self._finder, Climber) else Closest()

    def _seeds(self, originals: FloatArray, targets: BoolArray, purpose: str) -> list[int]:
        """Give each row a seed by what it is, not by where it stands: a batch's composition changes nothing."""
        return [
            derive(self.seed_, purpose, row.tobytes(), target.tobytes())
            for row, target in zip(originals + 0.0, targets, strict=True)
        ]

    def _certificate(self, point: FloatArray, target: BoolArray, n_agree: int) -> Certificate:
        return certificate_of(
            point,
            named(target, self.classes_),
            n_agree,
            len(self.members_.voters),
            self.guarantee_,
            steered=self.members_.steered,
            space=repr(self.members_.space),
            varied=self.members_.varied,
        )

    def _made_with(self) -> MadeWith:
        return made_with(
            model=self.model_,
            space=repr(self.members_.space),
            base=self.base,
            search=self._finder,
            certify_on=self.certify_on,
            search_members=len(self.members_.search),
            certifying_members=len(self.members_.voters),
            training_rows=len(self.problem_.X_train),
        )

    def _validity(self, item: RobustCounterfactual, which: Which, members: Ensemble) -> float:
        point = item.points[which]
        if point is None:
            return np.nan
        wanted = np.isin(self.classes_, item.target)[None]
        return float(members.votes(point[None], wanted)[0] / len(members))


def _check_count(n_models: Any) -> int:
    if isinstance(n_models, bool) or not isinstance(n_models, (int, np.integer)) or n_models < 1:
        raise InvalidInput(f"`n_models` must be a whole number >= 1; got {n_models!r}.")
    return int(n_models)
