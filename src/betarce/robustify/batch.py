"""The rows of one call: what each is, what it wants, where it may go, and where its search starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.explainers import Explained
from betarce.features import FeatureSpace, RawTable, Rules
from betarce.search import Task
from betarce.targets import accepted

ALREADY_THERE = "The model gives this row the class that is wanted: there is nothing to change."
_FROZEN = "The rules of `features` leave nothing to change for this row."


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows of one call that can be read.

    Attributes
    ----------
    originals : array of shape (n, d)
    names : Index
        What the rows are called.
    task : Task
        Where each starts, and where it may go.
    targets : array of bool, shape (n, classes)
        The classes that each row accepts.
    based : Explained
        The base counterfactuals.
    notes : list of str
        What else each row should know.
    there : array of bool, shape (n,)
        Which rows have their target class already.
    post_hoc : bool
        Whether the search starts from the base, so that a row without one has no answer.
    """

    originals: FloatArray
    names: "pd.Index[Any]"
    task: Task
    targets: BoolArray
    based: Explained
    notes: list[str]
    there: BoolArray
    post_hoc: bool

    @property
    def infeasible(self) -> list[str]:
        """For each row, why its rules leave no way; "" where they do."""
        return [
            "" if possible else f"Rules collide: {conflict}." if conflict else _FROZEN
            for conflict, possible in zip(self.task.box.conflicts, self.task.box.possible, strict=True)
        ]

    @property
    def searchable(self) -> IntArray:
        """The rows that need an answer and have somewhere to start from and room to move."""
        ready = self.based.found if self.post_hoc else np.ones(len(self.there), dtype=bool)
        return np.flatnonzero(ready & self.task.box.possible & ~self.there)


def readable_rows(features: FeatureSpace, table: RawTable, what: str) -> tuple[FloatArray, dict[int, str]]:
    """Encode the rows that can be read; say of the others why they cannot.

    Returns
    -------
    array of shape (readable rows, d)
    dict of int to str
        By position, the rows that hold a value which the training table does not know.

    Raises
    ------
    InvalidInput
        If the table as a whole does not fit, since it has other columns.
    """
    try:
        return features.encode(table, what=what), {}
    except InvalidInput:
        features.check_columns(table, what=what)
    parts: list[FloatArray] = [np.zeros((0, len(features)))]
    unreadable: dict[int, str] = {}
    _halve(features, table, what, 0, len(table), parts, unreadable)
    return np.concatenate(parts), unreadable


def _halve(
    features: FeatureSpace,
    table: RawTable,
    what: str,
    start: int,
    stop: int,
    parts: list[FloatArray],
    unreadable: dict[int, str],
) -> None:
    """Encode rows in ever smaller pieces until the ones that fail stand alone."""
    try:
        parts.append(features.encode(table[start:stop], what=what))
    except InvalidInput as error:
        if stop - start == 1:
            unreadable[start] = str(error)
            return
        middle = (start + stop) // 2
        _halve(features, table, what, start, middle, parts, unreadable)
        _halve(features, table, what, middle, stop, parts, unreadable)


def wanted(target: Any, current: IntArray, classes: AnyArray) -> tuple[BoolArray, BoolArray]:
    """Say which classes each row accepts, and which rows have one of them already.

    Parameters
    ----------
    target : label, set of labels, one of either per row, or None
        None means the other one of two classes.
    current : array of int, shape (n,)
        The code of the class that the model gives each row now.
    classes : array
    """
    if target is None:
        if len(classes) > 2:
            raise InvalidInput(
                f"`target` must say which of the {len(classes)} classes is wanted: {classes.tolist()}. "
                "A set of classes accepts any of them."
            )
        return np.asarray(current[:, None] != np.arange(2)), np.zeros(len(current), dtype=bool)
    targets = accepted(target, classes, len(current))
    return targets, np.asarray(targets[np.arange(len(current)), current])


def overrides_by_row(overrides: Any, names: "pd.Index[Any]") -> list[Rules | None] | None:
    """Put the rules of single rows in the order of the rows."""
    if overrides is None:
        return None
    if not isinstance(overrides, Mapping):
        raise InvalidInput(f"`overrides` must map row names to rules by column; got {overrides!r}.")
    unknown = [name for name in overrides if name not in names]
    if unknown:
        raise InvalidInput(f"`overrides` names the row {unknown[0]!r}, which `X` lacks.")
    return [overrides.get(name) for name in names]
