"""From CSV files to runs and from runs to answers: what `betarce fit` and `betarce explain --from` do."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from betarce.errors import UnusableModel
from betarce.models.files import load_model
from betarce.models.recipe import Recipe, Retraining, check_labels
from betarce.robustify import BetaRCE
from betarce.runs.csv_for_run import read_for_run
from betarce.runs.csv_jobs import Job, Training, accuracy_of, job_for
from betarce.runs.csv_rows import RowsFile, read_table
from betarce.runs.fit_folder import FitFolder
from betarce.runs.manifest import TableSource
from betarce.runs.saving import save_run
from betarce.seeding import derive


@dataclass(frozen=True, eq=False)
class Fitted:
    """A run that was just made.

    Attributes
    ----------
    rce : BetaRCE
    accuracy : float
        Share of rows kept aside for which a model trained on the others is right; NaN where there are too few rows.
    n_stored : int
        Models that an earlier fit had trained before it was stopped.
    """

    rce: BetaRCE
    accuracy: float
    n_stored: int


def fit_run(
    training: Training,
    folder: str | os.PathLike[str],
    *,
    model: str = "lightgbm",
    source: TableSource | None = None,
    n_audit: int = 59,
    seed: int = 0,
    trust: Sequence[str] = (),
    allow_pickle: bool = False,
    **settings: Any,
) -> Fitted:
    """Train a model and its members on a table, and write the run; a fit that was stopped in the folder goes on.

    Parameters
    ----------
    training : Training
    folder : str or path
        New, empty, or with a fit that was stopped.
    model : str
        See `betarce.models.files.load_model`; it must offer a recipe.
    source : TableSource, optional
        How the table was read.
    n_audit : int
        Audit members.
    seed : int
    trust : sequence of str
        Types that a `.skops` file may hold.
    allow_pickle : bool
        Whether a `.joblib` or `.pkl` file may be read.
    **settings
        Of `BetaRCE`: space, base, delta, confidence, prior, n_models, n_jobs, max_changes, verbose.
    """
    loaded = load_model(model, table=training.table, trust=trust, allow_pickle=allow_pickle)
    rce = BetaRCE(loaded.to_retrain(), features=training.rules, random_state=seed, **settings)
    stored = FitFolder(folder, trust=tuple(trust))
    n_stored = stored.n_stored
    rce.fit(training.table, training.labels, n_audit=n_audit, store=stored)
    save_run(rce, folder, source=source)
    return Fitted(rce, accuracy_of(loaded.model, training, seed), n_stored)


def trained_on(path: str | os.PathLike[str], rce: BetaRCE, source: TableSource) -> Any:
    """Train the recipe of a run on new data: the model that the next deployment would bring.

    Parameters
    ----------
    path : str or path
        A CSV file with the columns of the run and its label.
    rce : BetaRCE
        The run.
    source : TableSource
        How its own table was read.

    Raises
    ------
    UnusableModel
        If the recipe cannot be trained on it.
    """
    table = read_table(path, rce, source)
    check_labels(table.y, len(table))
    [outcome] = Recipe(rce.model_).train(table, [Retraining("next", derive(rce.seed_, "next"))])
    if outcome.model is None:
        raise UnusableModel(f"The recipe of the run could not be trained on {os.fspath(path)!r}: {outcome.error}.")
    return outcome.model


@dataclass(frozen=True, eq=False)
class RunJob:
    """Rows to be explained from a run.

    Attributes
    ----------
    job : Job
    label : str
        What the classes are of.
    rows : RowsFile
        All rows of the file.
    """

    job: Job
    label: str
    rows: RowsFile


def job_from_run(
    folder: str | os.PathLike[str],
    rows: str | os.PathLike[str],
    *,
    target: str | None = None,
    limit: int | None = None,
    names: str | None = None,
    missing: Sequence[str] = (),
    trust: Sequence[str] = (),
) -> RunJob:
    """Load a run, and read the rows to explain from a CSV file: columns are matched by name.

    Parameters
    ----------
    folder : str or path
        The run.
    rows : str or path
        The CSV file.
    target : str or None
        The class wanted, as text; None raises an error that lists the classes.
    limit : int, optional
        How many rows to explain; all by default.
    names : str, optional
        A column that says what the rows are called; they are counted by default.
    missing : sequence of str
        What stands for a missing value, besides what did so in the training table.
    trust : sequence of str
        See `betarce.load`.
    """
    asked = read_for_run(folder, rows, target=target, names=names, missing=missing, trust=trust)
    return RunJob(job_for(asked.rce, asked.rows.table, asked.target, limit=limit), asked.label, asked.rows)
