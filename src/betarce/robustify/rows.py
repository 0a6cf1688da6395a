"""Read the rows of one call: their points, names, targets, bases and own rules, in one order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace, RawTable, Rule, Rules, check_table, row_names
from betarce.features.alignment import aligned_rows, aligned_values
from betarce.features.rules.protocol import check_rule


@dataclass(frozen=True, eq=False)
class Rows:
    """What was asked, for all rows of a call.

    Attributes
    ----------
    names : Index
        What the rows are called, all of them.
    originals : array of shape (kept, d)
        The rows that can be read, as points.
    kept : array of int
        Which rows those are.
    unreadable : mapping of int to str
        The others, and why they cannot be read.
    target : Any
        What was asked for, in the order of the rows; None for the other one of two classes.
    bases : (array of shape (kept, d), list of str) or None
        Ready-made counterfactuals, and why one could not be read; "" for those that could.
    overrides : list of rules or None
        Rules of single rows, for all of them.
    """

    names: "pd.Index[Any]"
    originals: FloatArray
    kept: IntArray
    unreadable: Mapping[int, str]
    target: Any
    bases: tuple[FloatArray, list[str]] | None
    overrides: list[Rules | None] | None

    @classmethod
    def read(
        cls,
        features: FeatureSpace,
        X: Any,
        target: Any,
        base_points: Any,
        overrides: Any,
    ) -> "Rows":
        """Read many rows; one that holds a value which the training table does not know leaves the others alone."""
        table = check_table(X)
        originals, unreadable = readable_rows(features, table, "X")
        names = row_names(table)
        everyone = np.arange(len(names))
        kept = np.setdiff1d(everyone, list(unreadable)) if unreadable else everyone
        own = _by_row(overrides, names)
        if not kept.size:
            return cls(names, originals, kept, unreadable, None, None, own)
        target = aligned_values(target, table, what="target")
        base_points = aligned_rows(base_points, table, what="base_points")
        return cls(names, originals, kept, unreadable, target, _bases(features, base_points, names, kept), own)

    @classmethod
    def read_one(cls, features: FeatureSpace, x: Any, target: Any, base_points: Any, overrides: Any) -> "Rows":
        """Read a single row, which must be readable."""
        table = check_table(x, what="x")
        if len(table) != 1:
            raise InvalidInput(f"`x` must be a single row; got {len(table)}.")
        names, kept = row_names(table), np.arange(1)
        original = features.encode(table, what="x")
        bases = _bases(features, base_points, names, kept)
        return cls(names, original, kept, {}, target, bases, _by_row(overrides, names))

    @property
    def kept_overrides(self) -> list[Rules | None] | None:
        """The rules of those rows that can be read."""
        return None if self.overrides is None else [self.overrides[i] for i in self.kept]


def _bases(
    features: FeatureSpace, base_points: Any, names: "pd.Index[Any]", kept: IntArray
) -> tuple[FloatArray, list[str]] | None:
    if base_points is None:
        return None
    table = check_table(base_points, what="base_points")
    if len(table) != len(names):
        raise InvalidInput(f"`base_points` must have one row per row of `X` ({len(names)}); got {len(table)}.")
    read, unreadable = readable_rows(features, table, "base_points")
    points = np.zeros((len(table), len(features)))
    points[np.setdiff1d(np.arange(len(table)), list(unreadable))] = read
    return points[kept], [unreadable.get(int(i), "") for i in kept]


def _by_row(overrides: Any, names: "pd.Index[Any]") -> list[Rules | None] | None:
    """Put the rules of single rows in the order of the rows."""
    if overrides is None:
        return None
    if not isinstance(overrides, Mapping):
        raise InvalidInput(f"`overrides` must map row names to rules by column; got {overrides!r}.")
    unknown = [name for name in overrides if name not in names]
    if unknown:
        raise InvalidInput(f"`overrides` names the row {unknown[0]!r}, which `X` lacks.")
    return [overrides.get(name) for name in names]


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


def own_rules(overrides: Sequence[Mapping[Any, Any] | None] | None, n_rows: int) -> list[dict[Any, Rule]]:
    """Give what holds for each row alone, as rules by column."""
    rows = [None] * n_rows if overrides is None else overrides
    return [{name: check_rule(rule, name) for name, rule in (row or {}).items()} for row in rows]
