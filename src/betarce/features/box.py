"""The box of each row: where its points may lie."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.features.columns import Column


@dataclass(frozen=True, eq=False)
class Choices:
    """The values that a column may end in: `values` of shape (k,), `allowed` of shape (rows, k)."""

    values: FloatArray
    allowed: BoolArray


@dataclass(frozen=True, eq=False)
class Box:
    """What each row may become.

    Attributes
    ----------
    origin : array of shape (rows, features)
        Where each row is now; what does not change stays as it is, to the bit.
    lower, upper : array of shape (rows, features)
        Where it may go; both NaN where a missing value stays missing.
    free : array of bool, shape (rows, features)
        What can be moved at all.
    may_miss : array of bool, shape (rows, features)
        Where a missing value is allowed.
    choices : mapping of int to Choices
        Columns that may take only some of the values between their bounds.
    conflicts : tuple of str
        For each row, which rules cannot all hold; "" where there is no conflict.
    max_changes : int or None
        How many columns may differ from where the row is now.
    """

    origin: FloatArray
    lower: FloatArray
    upper: FloatArray
    free: BoolArray
    may_miss: BoolArray
    choices: Mapping[int, Choices]
    conflicts: tuple[str, ...] = ()
    max_changes: int | None = None

    @property
    def possible(self) -> BoolArray:
        """The rows whose rules can all hold and leave something to change."""
        return np.array([not conflict for conflict in self.conflicts], dtype=bool) & self.free.any(axis=1)

    def take(self, rows: IntArray) -> "Box":
        """Pick the boxes of some rows, in any order and number; conflicts are left behind."""
        return Box(
            self.origin.take(rows, axis=0),
            self.lower.take(rows, axis=0),
            self.upper.take(rows, axis=0),
            self.free.take(rows, axis=0),
            self.may_miss.take(rows, axis=0),
            {j: Choices(choice.values, choice.allowed[rows]) for j, choice in self.choices.items()},
            max_changes=self.max_changes,
        )


def nearest_choice(column: Column, points: FloatArray, origin: FloatArray, choices: Choices) -> FloatArray:
    """Move values to the nearest allowed ones; names without an order go back to where they were."""
    rows = np.arange(len(points))
    if not len(choices.values):
        return points
    if column.is_nominal:
        codes = np.rint(np.nan_to_num(points, nan=-1)).astype(np.intp)
        here = np.rint(np.nan_to_num(origin, nan=-1)).astype(np.intp)
        first = choices.allowed.argmax(axis=1)
        back = np.where((here >= 0) & choices.allowed[rows, here], here, first)
        moved = np.where((codes >= 0) & choices.allowed[rows, codes], codes, back).astype(np.float64)
    else:
        gap = np.where(choices.allowed, np.abs(points[:, None] - choices.values), np.inf)
        moved = choices.values[gap.argmin(axis=1)]
    return np.where(choices.allowed.any(axis=1) & ~np.isnan(points), moved, points)


def is_choice(points: FloatArray, choices: Choices) -> BoolArray:
    """Say which values are allowed."""
    return np.asarray(((points[:, None] == choices.values) & choices.allowed).any(axis=1) | np.isnan(points))


def without_noise(points: FloatArray, box: Box, noise: FloatArray) -> FloatArray:
    """Make values within rounding of the original, or of zero, just that, where the box allows it."""
    quiet = np.where(np.abs(points) <= noise, 0.0, points)
    quiet = np.where(np.abs(points - box.origin) <= noise, box.origin, quiet)
    return np.where((quiet < box.lower) | (quiet > box.upper), points, quiet)
