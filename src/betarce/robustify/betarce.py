"""BetaRCE: from any counterfactual to one that survives retraining, with a certificate."""

import os
import time
from importlib import import_module
from typing import Any, cast

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from betarce.checks import check_n_jobs, check_verbose, is_one_of
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import Problem
from betarce.features import FeatureSpace, Rules, check_table, row_names
from betarce.features.alignment import aligned_values
from betarce.members import Draw, Members
from betarce.posterior import Guarantee
from betarce.results.made_with import MadeWith, made_with
from betarce.results.result import Result
from betarce.robustify.answering import Answering
from betarce.robustify.audit import audit_frame, check_audited
from betarce.robustify.certify import Verdict, Verdicts, certify_points
from betarce.robustify.chunks import explained, timed
from betarce.robustify.fitting import FitStore, train
from betarce.robustify.further_members import extended, fresh_draw, with_audit
from betarce.robustify.lazy import explained_lazily, is_lazy
from betarce.robustify.params import HONOURED, FittedWith, changed, snapshot
from betarce.robustify.rows import Rows
from betarce.robustify.settings import check_count, check_features, check_guarantee
from betarce.robustify.subject import Subject
from betarce.robustify.tradeoff import Frontier, paper_ladders, tradeoff
from betarce.search import check_search
from betarce.spaces import Given
from betarce.targets import accepted


class BetaRCE(BaseEstimator):  # type: ignore[misc]
    """Make counterfactuals that survive retraining.

    Parameters
    ----------
    model : classifier
        Anything with `fit` and `predict`. Fitted: it is the model explained, and clones of it are retrained.
        Unfitted: `fit` trains it first.
    space : str or space
        How the model may be retrained: "seed", "bootstrap", "new-data", "architecture", or an object such as
        `betarce.Bootstrap()`, `betarce.NewData()`, `betarce.Architecture(ranges)`, `betarce.Mixture([...])`,
        `betarce.Custom(draw)`, `betarce.Given(models)`.
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
        smallest number that allows one dissent, "many" about 300, and a more thorough search. More certifying members
        buy closer points, and promises that hold in every fit. An int is for each of the two roles.
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
        Workers that train members and explain rows, as in joblib.
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
    268 of 302 fresh models agree: valid for >= 86 % with 90 % confidence
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

    def fit(self, X: Any, y: Any, *, n_audit: int = 0, store: FitStore | None = None) -> "BetaRCE":
        """Train the model if need be, then draw and train the members.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            The training table, as the model sees it.
        y : Series or array of shape (n,)
            The labels.
        n_audit : int
            Audit members to train as well, which nothing sees until a new model is compared with them.
        store : FitStore, optional
            Where members are stored as they are trained, such as `betarce.runs.FitFolder("run")`: a fit that was
            stopped goes on with those that it has, to the same bits.
        """
        subject, members, seed = train(self, X, y, n_audit=n_audit, store=store)
        return self.fit_with(subject, members, seed=seed)

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
        self.members_, self.seed_ = members, seed
        self.model_, self.classes_ = subject.model, subject.classes
        self._fitted_with = FittedWith.of(self, subject)
        self._honoured = snapshot(self, HONOURED)
        self._set_up(subject)
        return self

    def explain(self, X: Any, target: Any = None, base_points: Any = None, *, overrides: Any = None) -> Result:
        """Find a certified counterfactual for each row.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            The rows to explain; a single row may be a Series.
        target : label, set of labels, or one of either per row, optional
            The class wanted, for all rows or one per row; a set accepts any of its classes. Optional for two classes:
            the other one.
        base_points : DataFrame or array of shape (n, d), optional
            Ready-made counterfactuals from any other tool, to be used instead of `base`.
        overrides : mapping of row name to rules, optional
            What holds for single rows instead of `features`: ``{17: {"income": betarce.immutable()}}``.

        Returns
        -------
        Result
            One `RobustCounterfactual` per row; a row without an answer says why in its `status` and `reason`. A table
            of Dask or Ray gives one of its own kind, with the same answers, computed where and when it is.
        """
        self._refresh()
        if is_lazy(X):
            return cast(Result, explained_lazily(self, X, target, base_points, overrides))
        started = time.perf_counter()
        rows = Rows.read(self.features_, X, target, base_points, overrides)
        if rows.kept.size:
            self.members_ = self.members_.looked_at()
        items = explained(self._answering, self.members_, rows, n_jobs=self.n_jobs, verbose=self.verbose)
        return Result(timed(items, rows, time.perf_counter() - started), self.features_, self._made_with())

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
        rows = Rows.read_one(self.features_, x, target, base_points, overrides)
        self.members_ = self.members_.looked_at()
        batch, ladders = self._answering.ladders(self._answering.asked(rows))
        paper = paper_ladders(batch, self.problem_, self.members_.search, self.guarantee_)
        voters, varied = self.members_.voters, self.members_.varied
        return tradeoff(batch, ladders, paper, voters, self.guarantee_, self.features_, varied=varied)

    def certify(self, points: Any, target: Any) -> Verdicts:
        """Give a verdict on counterfactuals from any other tool.

        With `certify_on="holdout"` the certifying members vote. Points that were chosen by looking at earlier
        verdicts of the same members are no longer fresh to them: fit again with another seed.

        Parameters
        ----------
        points : DataFrame or array of shape (n, d)
            The counterfactuals, exactly as they would be handed out.
        target : label, set of labels, or one of either per row
            The class they should have.
        """
        self._refresh()
        table = check_table(points, what="points")
        rows, index = self.features_.encode(table, what="points"), row_names(table)
        targets = accepted(aligned_values(target, table, what="target", rows="points"), self.classes_, len(rows))
        self.members_ = self.members_.looked_at()
        votes = certify_points(rows, targets, self.members_, self.guarantee_)
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
            One line per row: "promised" (the lower bound), "robust" and "base" (the share of the fresh members under
            which each is valid); NaN where there is no such point.
        """
        self._refresh()
        check_audited(result, self.features_)
        self.members_ = with_audit(self.subject_, self.members_, n_models, n_jobs=self.n_jobs, verbose=self.verbose)
        assert self.members_.audit is not None
        return audit_frame(result, self.members_.audit)

    def fresh_members(self, n_models: int, *, role: str = "audit") -> Ensemble:
        """Draw and train further members of the space, which nothing has seen.

        Parameters
        ----------
        n_models : int
        role : str
            What they are for; another role gives other members.
        """
        return self.subject_.ensemble(self.fresh_draw(n_models, role=role).models)

    def fresh_draw(self, n_models: int, *, role: str = "audit") -> Draw:
        """Draw further models as `fresh_members` does, each with its name and seed."""
        self._refresh()
        return fresh_draw(self.subject_, self.members_, n_models, role, n_jobs=self.n_jobs, verbose=self.verbose)

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
        how: dict[str, Any] = {"n_jobs": self.n_jobs, "verbose": self.verbose}
        self.members_ = extended(self.subject_, self.members_, self.guarantee_, n_models, **how)
        return self

    def save(self, folder: "str | os.PathLike[str]", *, n_audit: int = 59) -> None:
        """Write the fitted explainer to a folder, without pickle; `betarce.load` reads it.

        Parameters
        ----------
        folder : str or path
            New, empty, or a run, which stays whole until the new one is complete.
        n_audit : int
            Audit members that the run holds, which are drawn and trained now if there are not as many: a new model is
            compared with them on the day of its deployment. None for a space that cannot be drawn from.
        """
        self._refresh()
        n_audit = check_count(n_audit, name="n_audit", least=0)
        if n_audit and not isinstance(self.members_.space, Given):
            how: dict[str, Any] = {"n_jobs": self.n_jobs, "verbose": self.verbose}
            self.members_ = with_audit(self.subject_, self.members_, n_audit, **how)
        # By name: runs are made of explainers, and not the other way round.
        import_module("betarce.runs").save_run(self, folder)

    def _guarantee(self) -> Guarantee:
        return check_guarantee(self.delta, self.confidence, self.prior, self.certify_on)

    def _set_up(self, subject: Subject) -> None:
        """Put everything in place that needs no training."""
        search = check_search(self.search, thorough=is_one_of(self.n_models, ("many",)))
        self._answering = Answering.of(
            subject.problem, search, self.base, self.members_, self._guarantee(), seed=self.seed_
        )
        self.subject_: Subject = subject
        self.problem_: Problem = subject.problem
        self.features_: FeatureSpace = subject.features
        self.guarantee_: Guarantee = self._answering.guarantee

    def _refresh(self) -> None:
        """Honour parameters that were changed after `fit`, or say that they need a new one."""
        check_is_fitted(self)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)
        self._fitted_with.refuse_changed(self)
        now = snapshot(self, HONOURED)
        if not changed(self._honoured, now):
            return
        subject = self.subject_
        if set(changed(self._honoured, now)) & {"features", "max_changes"}:
            features = check_features(self.features, subject.table.X, self.max_changes)
            subject = subject.under(features)
        self._set_up(subject)
        self._honoured = now

    def _made_with(self) -> MadeWith:
        return made_with(
            model=self.model_,
            space=repr(self.members_.space),
            base=self.base,
            search=self._answering.search,
            certify_on=self.certify_on,
            search_members=len(self.members_.search),
            certifying_members=len(self.members_.voters),
            training_rows=len(self.problem_.X_train),
        )
