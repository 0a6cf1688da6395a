"""One cell of a plan: a data set, model family, space and fold, from the raw table to records.

The protocol:

* The rows of the data set are shuffled, by the plan's seed and the data set's name alone, and cut into `folds` parts,
  without regard to their classes. One part is explained, the others train; all families and spaces share the cut, and
  the first `rows` of the part are the rows explained.
* Every column is scaled to [0, 1] by its range in the training parts; all columns are real numbers, as in the paper.
* A model of the family is trained, the same for all spaces; it keeps 20 % of its rows aside for validation, and so does
  every member. Members that search, certify, tune and audit are separate draws from the space.
* Every row is explained towards the class that the model does not give it. A base method answers each row once, with
  the parameters of the plan's method of the same name if there is one, and all methods that start from it start from
  these points; the time of a method holds that of its base. Both forms of BetaRCE run for each base method, delta and
  confidence on the same pool of members, of which smaller guarantees take a part; other methods run once, or once per
  base method where they start from one.
* Members of the cell's own space measure "robustness"; those of every space among `audit_spaces`, drawn for the cell
  of that space, measure "robustness_SPACE". No method has seen any of them.
* A method that cannot run, for instance for want of an extra, has a record for every row all the same, with the status
  "failed" and the reason. No row is ever dropped.

Every cell gets its seeds from the plan's seed and its own name, so it comes out the same, up to the time taken, in any
order, beside any others, on any number of workers, with what cells share taken from a folder or computed anew.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from betarce.arrays import AnyArray, FloatArray, IntArray
from betarce.comparison.forms import FORMS
from betarce.comparison.metrics import robustness
from betarce.comparison.scores import ExplainedRows
from betarce.comparison.tuning import Answer, OtherMethods, answer_of, configured
from betarce.datasets import load
from betarce.ensemble import Ensemble
from betarce.errors import BetarceWarning
from betarce.features import FeatureSpace
from betarce.members import Draw, deal
from betarce.models.families import paper_model
from betarce.models.recipe import Recipe, Table
from betarce.paper.base_cache import CachedBase
from betarce.paper.disk_cache import DiskCache, fingerprint_of
from betarce.paper.plan import Cell, Method, Plan
from betarce.paper.records import SCORES, Record
from betarce.paper.reuse import Entry, Reuse, check_rows, check_same
from betarce.paper.trained_members import cached_members
from betarce.posterior import Certificate, Guarantee, interval
from betarce.robustify import BetaRCE
from betarce.robustify.model import explained_model
from betarce.robustify.odd_members import warn_of_odd_members
from betarce.robustify.subject import Subject
from betarce.seeding import derive, generator
from betarce.spaces import check_space


def run_cell(
    cell: Cell, plan: Plan, *, shared: str | os.PathLike[str] | None = None, reuse: Reuse | None = None
) -> dict[str, Any]:
    """Run one cell, on one thread.

    Parameters
    ----------
    cell : Cell
    plan : Plan
    shared : path, optional
        A folder where trained members and base points are kept for other cells and runs.
    reuse : Reuse, optional
        Records of an earlier run, for the methods that it names.

    Returns
    -------
    dict
        "records", one per method and row; "reused", where some of them come from an earlier run; "accuracy" of the
        model on the whole part that is explained; "n_train"; "data_digest", of the data set as it was read;
        "warnings" of this package about the members.
    """
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BetarceWarning)
        stage = _TrainedCell(cell, plan, DiskCache(shared), reuse)
        records = list(stage.records())
    said = [str(warning.message) for warning in caught if issubclass(warning.category, BetarceWarning)]
    return {
        "data_digest": stage.fold.data_digest,
        "n_train": len(stage.fold.X_train),
        "accuracy": stage.accuracy,
        "warnings": list(dict.fromkeys(said)),
        **({"reused": reuse.stated()} if reuse else {}),
        "records": records,
    }


@dataclass(frozen=True, eq=False)
class Fold:
    """A data set cut in two: what trains, and what is explained.

    `names` are the row numbers of the latter; `data_digest` tells copies of the data set apart, whose order may differ.
    """

    X_train: FloatArray
    y_train: AnyArray
    X_test: FloatArray
    y_test: AnyArray
    names: IntArray
    data_digest: str


def cut(cell: Cell, plan: Plan) -> Fold:
    """Cut the data set of a cell, and scale it by its training part."""
    data = load(cell.data)
    X, y = data.X.to_numpy(float), data.y.to_numpy()
    data_digest = (
        "blake2b:" + blake2b(X.astype("<f8").tobytes() + y.astype("<i8").tobytes(), digest_size=16).hexdigest()
    )
    parts = np.array_split(generator(plan.seed, cell.data, "folds").permutation(len(X)), plan.folds)
    test = parts[cell.fold]
    train = np.sort(np.concatenate([part for fold, part in enumerate(parts) if fold != cell.fold]))
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = (X - low) / np.where(high > low, high - low, 1.0)
    return Fold(X[train], y[train], X[test], y[test], test, data_digest)


class _TrainedCell:
    """A cell, trained and ready: all methods find here what they need."""

    def __init__(self, cell: Cell, plan: Plan, store: DiskCache, reuse: Reuse | None = None) -> None:
        self.cell, self.plan, self.store = cell, plan, store
        self.reused, self.earlier = (reuse.methods, reuse.records_of(cell)) if reuse else ((), {})
        self.fold = cut(cell, plan)
        self.seed = plan.shared_seed(cell)
        table = Table(self.fold.X_train, self.fold.y_train)
        model = explained_model(paper_model(cell.family), table, derive(self.seed, "model"))
        self.subject = Subject(model, table, FeatureSpace.infer(self.fold.X_train))
        self.problem = self.subject.problem
        self.batch = ExplainedRows.of(self.problem, self.fold.X_test[: plan.rows], None)
        n_search, n_certify = plan.pool_sizes(cell.family)
        self.searching = self._drawn("search", n_search)
        self.certifying = self._drawn("certify", n_certify)
        pools = [self._ensemble(drawn) for drawn in (self.searching, self.certifying) if drawn]
        warn_of_odd_members(pools, self.fold.X_train, check_space(cell.space), model)
        audited = dict.fromkeys([cell.space, *plan.audit_spaces])
        self.audits = {
            space: self._ensemble(self._drawn("audit", plan.audit_members, space=space)) for space in audited
        }
        self.others = OtherMethods(self.problem, self.seed, self._tuning_members, plan.tuning_rows)
        self._bases: dict[str, tuple[CachedBase, dict[str, Any]]] = {}

    @property
    def accuracy(self) -> float:
        """Of the model, on the whole part that is explained."""
        return float(np.mean(self.subject.model.predict(self.fold.X_test) == self.fold.y_test))

    @property
    def names(self) -> IntArray:
        """The numbers of the rows explained."""
        return self.fold.names[: self.plan.rows]

    def records(self) -> Iterator[Record]:
        """Let every method answer for every row."""
        for method in self.plan.methods:
            if not method.ours:
                for base in self.plan.bases if method.based else [None]:
                    yield from self._entry(method, base, None, self._foreign)
        for method in self.plan.methods:
            if method.ours:
                for promise in self.plan.promises:
                    guarantee = self.plan.guarantee(method, *promise)
                    fitted = None if method.name in self.reused else self._fitted(method, guarantee)
                    for base in self.plan.bases:
                        yield from self._entry(method, base, guarantee, partial(self._own, fitted))

    # Members

    def _drawn(self, role: str, n: int, *, space: str = "") -> Draw:
        """Draw members for a role in the cell of this space, its own by default."""
        cell = replace(self.cell, space=space or self.cell.space)
        if not n:
            return Draw([], ())
        recipe, seed = Recipe(self.subject.model), self.plan.seed_of(cell)
        return cached_members(self.store, check_space(cell.space), recipe, self.subject.table, role, n, seed=seed)

    def _tuning_members(self) -> Ensemble:
        return self._ensemble(self._drawn("tune", self.plan.tuning_members))

    def _ensemble(self, drawn: Draw) -> Ensemble:
        return self.subject.ensemble(drawn.models)

    # Methods of others

    def _base(self, name: str) -> tuple[CachedBase, dict[str, Any]]:
        """Give a base method that has answered all rows, and its parameters."""
        if name not in self._bases:
            own = [method for method in self.plan.methods if method.name == method.method == name]
            parameters = self._chosen(own[0], None) if own else {}
            base = CachedBase(configured(name, parameters), derive(self.seed, "base", name))
            self._answer_rows(base)
            self._bases[name] = base, parameters
        return self._bases[name]

    def _answer_rows(self, base: CachedBase) -> None:
        """Let a base method answer the rows explained, once for the cells of all spaces, which share the model."""
        definition = {
            "what": "base points",
            "explainer": repr(base.explainer),
            "model": [self.cell.family, derive(self.seed, "model")],
            "seed": base.seed,
            "rows": fingerprint_of(self.fold.X_train, np.asarray(self.fold.y_train), self.batch.originals),
        }
        cached = self.store.read(definition, base.from_arrays)
        base.explain(self.batch.originals, self.batch.targets, self.problem, self.batch.box, [])
        if not cached:
            self.store.write(definition, base.to_arrays())

    def _chosen(self, method: Method, base: CachedBase | None) -> dict[str, Any]:
        """Give the parameters of a method, tuned if it has a grid."""
        start = {} if base is None else {"base": base}
        if not method.grid:
            return {**method.parameters, **start}
        grid = {**method.full_grid, **{name: (value,) for name, value in start.items()}}
        return self.others.best(method.method, method.name, grid)

    def _foreign(self, method: Method, base_name: str | None) -> tuple[Answer, dict[str, Any]]:
        if base_name is not None:
            base, _ = self._base(base_name)
            parameters = self._chosen(method, base)
            answer = self.others.run(method.method, method.name, parameters, self.batch)
            return self._with_base(answer, base), parameters
        if method.name == method.method and method.name in self.plan.bases:
            base, parameters = self._base(method.name)
            explained = base.explain(self.batch.originals, self.batch.targets, self.problem, self.batch.box, [])
            return self._with_base(Answer(explained, 0.0), base), parameters
        parameters = self._chosen(method, None)
        return self.others.run(method.method, method.name, parameters, self.batch), parameters

    def _with_base(self, answer: Answer, base: CachedBase) -> Answer:
        """Add the time that the base method took, which was asked before."""
        return replace(answer, seconds=answer.seconds + base.seconds(self.batch.originals, self.batch.targets))

    # BetaRCE

    def _fitted(self, method: Method, guarantee: Guarantee) -> BetaRCE:
        """Give a form of BetaRCE for one guarantee, on members that are trained already."""
        form, space = FORMS[method.method], check_space(self.cell.space)
        n_search, n_certify = self.plan.sizes(method, guarantee, self.cell.family)
        rce = BetaRCE(
            self.subject.model,
            space=space,
            search=form.searching(method.parameters),
            certify_on=form.certify_on,
            n_models=(n_search, n_certify) if n_certify else n_search,
            features=self.subject.features,
            random_state=self.seed,
            verbose=-1,
            delta=guarantee.delta,
            confidence=guarantee.confidence,
            prior=guarantee.prior,
        )
        there = self.searching.take(range(n_search)) + self.certifying.take(range(n_certify))
        draws = deal(there, {"search": n_search, **({"certify": n_certify} if n_certify else {})}, seed=self.seed)
        with warnings.catch_warnings():
            # These are parts of the same members: warnings would repeat those of the whole.
            warnings.simplefilter("ignore", BetarceWarning)
            members = self.subject.members(draws, space=space, seed=self.plan.seed_of(self.cell))
        return rce.fit_with(self.subject, members, seed=self.seed)

    def _own(self, fitted: BetaRCE | None, method: Method, base_name: str) -> tuple[Answer, dict[str, Any]]:
        assert fitted is not None  # methods that are taken over are not asked
        base, _ = self._base(base_name)
        answer = answer_of(fitted.set_params(base=base), self.batch)
        return self._with_base(answer, base), dict(method.parameters)

    # Records

    def _entry(
        self, method: Method, base: str | None, guarantee: Guarantee | None, ask: Callable[..., Any]
    ) -> list[Record]:
        """Take one method's records from an earlier run, or ask it and hold its answers against those it gave before.

        A method that breaks down leaves a record for every row, and the others alone.
        """
        entry = (method.name, base, *((guarantee.delta, guarantee.confidence) if guarantee else (None, None)))
        earlier = self.earlier.get(entry, [])
        if method.name in self.reused:
            check_rows(earlier, map(int, self.names), entry)
            return earlier
        records = self._asked(method, entry, ask)
        if self.earlier and method.name == method.method and method.name in self.plan.bases:
            check_rows(earlier, map(int, self.names), entry)
            check_same(records, earlier)
        return records

    def _asked(self, method: Method, entry: Entry, ask: Callable[..., Any]) -> list[Record]:
        _, base, delta, confidence = entry
        parameters: dict[str, Any] = dict(method.parameters)
        try:
            answer, parameters = ask(method, base)
            lines = self._lines(method.name, answer)
        except Exception as error:  # noqa: BLE001 - methods may fail in any way; their rows say how
            lines = [self._blank(f"{type(error).__name__}: {error}") for _ in self.names]
        head = {
            "method": method.name,
            "base": base,
            "parameters": {name: value for name, value in parameters.items() if name != "base"},
            "delta": delta,
            "confidence": confidence,
        }
        return [{**head, "row": int(name), **line} for name, line in zip(self.names, lines, strict=True)]

    def _lines(self, name: str, answer: Answer) -> list[Record]:
        table = self.batch.measure(name, answer.explained, answer.seconds, self.audits[self.cell.space], np.nan)
        found = np.flatnonzero(table["found"])
        points, targets = answer.explained.points[found], self.batch.targets[found]
        for space in self.plan.audit_spaces:
            table[_under(space)] = np.nan
            table.loc[found, _under(space)] = robustness(self.audits[space], points, targets)
        lines = []
        for i, row in enumerate(table.to_dict("records")):
            item = answer.result[i] if answer.result is not None else None
            status = "found" if row["found"] else "not-found"
            if item is not None and bool(row["found"]) == (item.status == "certified"):
                status = item.status
            lines.append(
                {
                    "found": bool(row["found"]),
                    "status": status,
                    "reason": row["reason"],
                    **{score: _number(row.get(score, np.nan)) for score in self._scores},
                    "evaluations": int(row["evaluations"]),
                    "ms": float(row["ms"]),
                    **_vote(item.certificate if item is not None else None),
                }
            )
        return lines

    @property
    def _scores(self) -> list[str]:
        return [*SCORES, *map(_under, self.plan.audit_spaces)]

    def _blank(self, reason: str) -> Record:
        scores = dict.fromkeys([*self._scores, "evaluations", "ms"])
        return {"found": False, "status": "failed", "reason": reason, **scores, **_vote(None)}


def _under(space: str) -> str:
    return f"robustness_{space}"


def _vote(certificate: Certificate | None) -> Record:
    names = ("n_agree", "n_models", "lower_bound", "upper_bound", "members")
    if certificate is None:
        return dict.fromkeys(names)
    given = certificate.guarantee
    n_agree, n_models = certificate.n_agree, certificate.n_models
    upper = None
    if given.confidence > 0.5:
        # The same tail on the other side: at confidence 0.95 both bounds are the paper's interval of 0.9.
        upper = float(interval(n_agree, n_models, confidence=2 * given.confidence - 1, prior=given.prior)[1])
    return dict(zip(names, (n_agree, n_models, certificate.lower_bound, upper, certificate.members), strict=True))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
