"""Verdicts of a run on points of a CSV file: what `betarce certify` does."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.features import row_names
from betarce.robustify import Verdict
from betarce.robustify.rows import readable_rows
from betarce.runs.csv_for_run import read_for_run


@dataclass(frozen=True, eq=False)
class JudgedPoints:
    """Points of a file, and what the members of a run say about them.

    Attributes
    ----------
    names : Index
        What the points are called.
    verdicts : mapping of int to Verdict
        By position; those that cannot be read have none.
    unreadable : mapping of int to str
        Why the others cannot be read.
    label : str
        What the classes are of.
    target : Any
        The class that the points should have.
    extra : tuple of str
        Columns of the file that no model sees.
    """

    names: "pd.Index[Any]"
    verdicts: Mapping[int, Verdict]
    unreadable: Mapping[int, str]
    label: str
    target: Any
    extra: tuple[str, ...]

    @property
    def n_certified(self) -> int:
        """How many points are counterfactuals now, and are certified to stay so."""
        return sum(verdict.certified for verdict in self.verdicts.values())

    def to_frame(self) -> pd.DataFrame:
        """Put the verdicts in a table, one line per point; a point that cannot be read has no votes."""
        lines = []
        for i in range(len(self.names)):
            verdict = self.verdicts.get(i)
            votes = None if verdict is None else verdict.certificate
            lines.append(
                {
                    "certified": verdict is not None and verdict.certified,
                    "model_agrees": None if verdict is None else verdict.model_agrees,
                    "lower_bound": None if votes is None else votes.lower_bound,
                    "n_agree": None if votes is None else votes.n_agree,
                    "n_models": None if votes is None else votes.n_models,
                    "says": self.unreadable[i] if verdict is None else str(verdict),
                }
            )
        return pd.DataFrame(lines, index=self.names, dtype=object)


def judge_points(
    folder: str | os.PathLike[str],
    points: str | os.PathLike[str],
    *,
    target: str | None = None,
    names: str | None = None,
    missing: Sequence[str] = (),
    trust: Sequence[str] = (),
) -> JudgedPoints:
    """Load a run, and let its members vote on the points of a CSV file: columns are matched by name.

    Parameters
    ----------
    folder : str or path
        The run.
    points : str or path
        The CSV file: counterfactuals exactly as they would be handed out.
    target : str or None
        The class that they should have, as text; None raises an error that lists the classes.
    names : str, optional
        A column that says what the points are called; they are counted by default.
    missing : sequence of str
        What stands for a missing value, besides what did so in the training table.
    trust : sequence of str
        See `betarce.load`.
    """
    asked = read_for_run(folder, points, target=target, names=names, missing=missing, trust=trust)
    rce, table = asked.rce, asked.rows.table
    _, unreadable = readable_rows(rce.features_, table, os.fspath(points))
    readable = np.setdiff1d(np.arange(len(table)), list(unreadable))
    verdicts = rce.certify(table.iloc[readable], asked.target)
    by_position = dict(zip(readable.tolist(), verdicts, strict=True))
    extra = tuple(name for name in asked.rows.extra if name not in (names, asked.source.label))
    return JudgedPoints(row_names(table), by_position, unreadable, asked.label, asked.target, extra)
