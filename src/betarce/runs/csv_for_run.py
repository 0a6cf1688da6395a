"""A run, loaded with the rows of a CSV file that it is asked about."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from betarce.robustify import BetaRCE
from betarce.runs.csv_jobs import class_wanted
from betarce.runs.csv_rows import RowsFile, read_rows
from betarce.runs.loading import load
from betarce.runs.manifest import Manifest, TableSource


@dataclass(frozen=True, eq=False)
class RowsForRun:
    """Rows of a file, and the run that is asked about them.

    Attributes
    ----------
    rce : BetaRCE
    source : TableSource
        How the training table of the run was read.
    target : Any
        The class that is asked for.
    rows : RowsFile
        All rows of the file.
    """

    rce: BetaRCE
    source: TableSource
    target: Any
    rows: RowsFile

    @property
    def label(self) -> str:
        """What the classes are of."""
        return _label(self.source)


def read_for_run(
    folder: str | os.PathLike[str],
    rows: str | os.PathLike[str],
    *,
    target: str | None,
    names: str | None,
    missing: Sequence[str],
    trust: Sequence[str],
) -> RowsForRun:
    """Load a run, and read the rows of a CSV file: columns are matched by name.

    Parameters
    ----------
    folder : str or path
        The run.
    rows : str or path
        The CSV file.
    target : str or None
        The class asked for, as text; None raises an error that lists the classes.
    names : str or None
        A column that says what the rows are called; without one they are counted.
    missing : sequence of str
        What stands for a missing value, besides what did so in the training table.
    trust : sequence of str
        See `betarce.load`.
    """
    source = Manifest.read(folder).source
    rce = load(folder, trust=trust)
    wanted = class_wanted(target, _label(source), rce.classes_)
    found = read_rows(rows, rce.features_, missing=[*source.missing, *missing])
    return RowsForRun(rce, source, wanted, found if names is None else found.named_by(names))


def _label(source: TableSource) -> str:
    return source.label or "the class"
