"""The rows of one call: what each is, what it wants, where it may go, and where its search starts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.explainers import Explained
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
