"""From a CSV file to certified counterfactuals: what `betarce init`, `fit` and `explain` do."""

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace, Rule
from betarce.features.hints import hints
from betarce.features.rules.kind import DeclaredKind
from betarce.features.rules_file import RuleFile
from betarce.models.tabular import tabular_model
from betarce.progress import progress
from betarce.robustify import BetaRCE, Result
from betarce.robustify.rows import readable_rows
from betarce.rules import immutable, read_rules
from betarce.runs.csv_rows import read_rows
from betarce.seeding import derive
from betarce.tables.csv_checks import Finding, check_values, identifiers
from betarce.tables.csv_file import as_categories, check_column, class_named, read_csv, without_label

_MOST_ROWS = 10  # explained of the training table, unless asked for more
_LEAST_A_CLASS = 5  # rows, to keep some aside
_CHUNKS = 10


@dataclass(frozen=True, eq=False)
class Inspection:
    """What a CSV file holds: its columns, what looks wrong in them, and hints on those in which nothing does."""

    features: FeatureSpace
    hints: Mapping[Hashable, str]
    n_rows: int
    findings: tuple[Finding, ...]

    @property
    def notes(self) -> dict[Hashable, str]:
        """What to look at, by column: what was found, or else the hint."""
        found: dict[Hashable, str] = {name: finding.text for finding in self.findings for name in finding.columns}
        return {**self.hints, **found}


def inspect(
    path: str | os.PathLike[str], *, label: str | None = None, drop: Sequence[str] = (), missing: Sequence[str] = ()
) -> Inspection:
    """Infer the feature space of a CSV file; columns that look like identifiers are immutable in it."""
    table = _without(read_csv(path, missing=missing), drop)
    findings = check_values(table, label=label)
    if label is not None:
        table, _ = without_label(table, label)
    table = _with_values(table)
    features = FeatureSpace.infer(as_categories(table), _frozen(findings, {}))
    found = {name for finding in findings for name in finding.columns}
    others = {name: text for name, text in hints(table, features).items() if name not in found}
    return Inspection(features, others, len(table), tuple(findings))


@dataclass(frozen=True, eq=False)
class Training:
    """A training table, read from a file and checked; nothing is trained yet.

    Attributes
    ----------
    table : DataFrame
        Without its labels.
    labels : array
    rules : RuleFile
        By column, and how many columns of a row may change.
        Those of the user; columns that look like identifiers are immutable.
    findings : tuple of Finding
        What looks wrong in the table, as far as the rules do not settle it.
    """

    table: pd.DataFrame
    labels: AnyArray
    rules: RuleFile
    findings: tuple[Finding, ...]


def read_training(
    path: str | os.PathLike[str],
    *,
    label: str,
    features: str | os.PathLike[str] | None = None,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> Training:
    """Read a training table and its rules.

    Parameters
    ----------
    path : str or path
        The training table.
    label : str
        Its column of classes.
    features : str or path, optional
        A file of rules. Columns that look like identifiers are immutable unless it names them.
    drop : sequence of str
        Columns to leave out.
    missing : sequence of str
        What else stands for a missing value in the file, such as "?".
    """
    table = _without(read_csv(path, missing=missing), drop)
    findings = check_values(table, label=label)
    table, labels = without_label(table, label)
    given = RuleFile() if features is None else read_rules(features)
    # Rules stay in the file that `init` wrote, also for a column that is left out because `init` says so.
    declared = {column: rule for column, rule in given.items() if column not in drop}
    rules = RuleFile({**_frozen(findings, declared), **declared})
    rules.max_changes = given.max_changes
    table = _as_declared(as_categories(_with_values(table)), rules)
    return Training(table, labels, rules, tuple(finding for finding in findings if not _settled(finding, declared)))


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked for, read from files and checked; nothing is trained yet.

    Attributes
    ----------
    training : Training
    target : label
        The class wanted.
    asked : DataFrame or None
        The rows of a file of their own that are to be explained.
    """

    training: Training
    target: Any
    asked: pd.DataFrame | None

    @property
    def table(self) -> pd.DataFrame:
        """The training table, without its labels."""
        return self.training.table

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What looks wrong in the training table."""
        return self.training.findings


def read_task(
    path: str | os.PathLike[str],
    *,
    label: str,
    target: str | None,
    rows: str | os.PathLike[str] | None = None,
    features: str | os.PathLike[str] | None = None,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> Task:
    """Read all files, and refuse what cannot be explained.

    Parameters
    ----------
    path, label, features, drop, missing
        As in `read_training`.
    target : str or None
        The class wanted, as text; None raises an error that lists the classes.
    rows : str or path, optional
        A CSV file of rows to explain; by default those of the training table that the model gives another class.
    """
    training = read_training(path, label=label, features=features, drop=drop, missing=missing)
    wanted = class_wanted(target, label, np.unique(training.labels))
    asked = None
    if rows is not None:
        space = FeatureSpace.infer(training.table, training.rules)
        asked = read_rows(rows, space, missing=missing).table
    return Task(training, wanted, asked)


@dataclass(frozen=True, eq=False)
class Job:
    """A fitted explainer and the rows to be explained.

    Attributes
    ----------
    rce : BetaRCE
    n_rows : int
        Rows that the model learnt from.
    accuracy : float
        Share of rows kept aside for which a model trained on the others is right; NaN where there are too few rows.
    target : label
        The class wanted.
    rows : DataFrame
        What is to be explained.
    n_there : int
        Rows that were left out, since the model gives them the target already.
    n_more : int
        Rows that could be explained as well, but for the limit.
    """

    rce: BetaRCE
    n_rows: int
    accuracy: float
    target: Any
    rows: pd.DataFrame
    n_there: int
    n_more: int

    def explain(self) -> Result:
        """Explain the rows, a few at a time, with a progress bar; what one row gets never depends on the others."""
        size = -(-len(self.rows) // _CHUNKS)
        parts = []
        with progress("Explaining", total=len(self.rows)) as advance:
            for start in range(0, len(self.rows), size):
                part = self.rows.iloc[start : start + size]
                parts.append(self.rce.explain(part, target=self.target))
                advance(len(part))
        return Result([item for part in parts for item in part], self.rce.features_, parts[0].made_with)


def train(
    task: Task, *, model: str = "hist-gradient-boosting", limit: int | None = None, seed: int = 0, **settings: Any
) -> Job:
    """Train a model, with members to search and to certify with; pick the rows to explain.

    Parameters
    ----------
    task : Task
    model : str
        See `betarce.models.tabular.tabular_model`.
    limit : int, optional
        How many rows to explain; 10 of the training table, all of `task.asked`.
    seed : int
    **settings
        Of `BetaRCE`: space, base, delta, confidence, prior, n_models, n_jobs.
    """
    estimator = tabular_model(model, task.table)
    training = task.training
    rce = BetaRCE(estimator, features=training.rules, random_state=seed, **settings)
    accuracy = accuracy_of(estimator, training, seed)
    rce.fit(training.table, training.labels)
    if task.asked is None:
        most = _MOST_ROWS if limit is None else limit
        return replace(job_for(rce, task.table, task.target, accuracy=accuracy, limit=most), n_there=0)
    return job_for(rce, task.asked, task.target, accuracy=accuracy, limit=limit)


def job_for(
    rce: BetaRCE, asked: pd.DataFrame, target: Any, *, accuracy: float = np.nan, limit: int | None = None
) -> Job:
    """Pick the rows that have something to be told: those that the model does not give the target already."""
    elsewhere = asked[_unless_there(rce, asked, target)]
    if elsewhere.empty:
        raise InvalidInput(
            f"The model gives all {len(asked)} rows the class {target!r} already. Ask for another --target, or "
            "for other --rows."
        )
    chosen = elsewhere.iloc[: len(elsewhere) if limit is None else limit]
    n_rows, there = len(rce.problem_.X_train), len(asked) - len(elsewhere)
    return Job(rce, n_rows, accuracy, target, chosen, there, len(elsewhere) - len(chosen))


def _unless_there(rce: BetaRCE, table: pd.DataFrame, target: Any) -> BoolArray:
    """Say which rows have something to be told: all but those that the model gives the target already."""
    points, unreadable = readable_rows(rce.features_, table, "X")
    told = np.ones(len(table), dtype=bool)
    if len(points):
        readable = np.setdiff1d(np.arange(len(table)), list(unreadable))
        told[readable] = np.asarray(rce.model_.predict(rce.features_.decode(points))) != target
    return told


def _without(table: pd.DataFrame, drop: Sequence[str]) -> pd.DataFrame:
    """Leave out what the user names."""
    for name in drop:
        check_column(table, name)
    return table.drop(columns=list(drop))


def _with_values(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out columns without any value."""
    table = table.dropna(axis="columns", how="all")
    if table.shape[1] == 0:
        raise InvalidInput("The table has no column left to learn from.")
    return table


def _frozen(findings: Sequence[Finding], declared: Mapping[Any, Rule]) -> dict[str, Rule]:
    """Make identifiers immutable, unless the user says what may happen to them."""
    named = _named(declared)
    return {name: immutable() for name in identifiers(findings) if name not in named}


def _settled(finding: Finding, declared: Mapping[Any, Rule]) -> bool:
    """Whether the user's rules say already how a column is meant."""
    if finding.kind == "identifier":
        return finding.columns[0] in _named(declared)
    about_kind = finding.kind in ("almost-numeric", "codes", "placeholder", "dates")
    return about_kind and _declared(declared.get(finding.columns[0], Rule())).kind is not None


def _declared(rule: Rule) -> DeclaredKind:
    return rule.part(DeclaredKind) or DeclaredKind()


def _named(declared: Mapping[Any, Rule]) -> set[Any]:
    return {name for key in declared for name in (key if isinstance(key, tuple) else [key])}


def class_wanted(target: str | None, label: str, classes: AnyArray) -> Any:
    """Find the class that someone typed; without one, list those that there are."""
    if target is None:
        raise InvalidInput(f"Say with --target which class of {label!r} is wanted: {', '.join(map(str, classes))}.")
    return class_named(target, classes)


def _as_declared(table: pd.DataFrame, rules: Mapping[Any, Rule]) -> pd.DataFrame:
    """Cast columns that rules declare categorical, with the levels in their order."""
    for name, rule in rules.items():
        declared = _declared(rule)
        if name in table.columns and declared.kind in ("categorical", "ordinal"):
            levels = None if declared.levels is None else list(declared.levels)
            known = table[name].dropna()
            if levels is None or known.isin(levels).all():
                dtype = pd.CategoricalDtype(levels, ordered=declared.kind == "ordinal" and levels is not None)
                table = table.assign(**{name: table[name].astype(dtype)})
    return table


def accuracy_of(estimator: Any, training: Training, seed: int) -> float:
    """Train on four fifths of the rows and count how often the model is right for the others."""
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    table, labels, seed = training.table, training.labels, derive(seed, "aside")
    if np.unique(labels, return_counts=True)[1].min() < _LEAST_A_CLASS:
        return np.nan
    seen, unseen = train_test_split(np.arange(len(table)), test_size=0.2, stratify=labels, random_state=seed)
    model = clone(estimator).fit(table.iloc[seen], labels[seen])
    return float(np.mean(model.predict(table.iloc[unseen]) == labels[unseen]))
