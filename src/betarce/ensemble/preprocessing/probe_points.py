"""A few points on which fitted transformers are run once.

They show every level of every categorical column, and every column missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.features.readings import Reading

_EXTRA = 24  # points beyond those that show every level


@dataclass(frozen=True, eq=False)
class ProbePoints:
    """How a table is read off points, and small tables to try transformers on.

    Attributes
    ----------
    readings : tuple of Reading
        One for each column of the table.
    decode : callable
        Turns points into a table.
    width : int
        Columns of a point.
    examples : array of shape (n, width) or None
        Points of the user's own, from which numbers are taken.

    Examples
    --------
    >>> readings = (Reading("age", 0), Reading("city", 1, ("Bonn", "Oslo", "Rome")))
    >>> ProbePoints(readings, np.asarray, width=2).points[:3, 1]
    array([0., 1., 2.])
    """

    readings: tuple[Reading, ...]
    decode: Callable[[FloatArray], Any]
    width: int
    examples: FloatArray | None = None

    @classmethod
    def numeric(cls, width: int, decode: Callable[[FloatArray], Any], examples: FloatArray | None) -> "ProbePoints":
        """Take points for rows of the table itself, number by number."""
        return cls(tuple(Reading(f"x{j}", j) for j in range(width)), decode, width, examples)

    @cached_property
    def is_plain(self) -> bool:
        """Whether a point is a row of the table, number by number."""
        return [(r.source, r.levels is None) for r in self.readings] == [(j, True) for j in range(self.width)]

    @cached_property
    def n_levels(self) -> dict[int, int]:
        """The number of levels of each categorical column of a point."""
        return {r.source: len(r.levels) for r in self.readings if r.levels is not None}

    @cached_property
    def points(self) -> FloatArray:
        """Points without missing values: first every level in the order of the codes, then random ones."""
        n_shown = max([1, *self.n_levels.values()])
        rng = np.random.default_rng(0)
        rows = np.arange(n_shown + _EXTRA)
        # Whole numbers where nothing is known: they survive a table of whole numbers.
        points = np.repeat((rows % 2)[:, None], self.width, axis=1).astype(np.float64)
        examples = self._complete_examples
        if len(examples):
            points[:] = examples[rows % len(examples)]
        for source, k in self.n_levels.items():
            points[:n_shown, source] = rows[:n_shown] % k
            points[n_shown:, source] = rng.integers(0, k, _EXTRA)
        return points

    @cached_property
    def table(self) -> Any:
        """These points as a table."""
        return self.decode(self.points)

    @cached_property
    def precision(self) -> str:
        """The lowest precision of any column of the table: some transformers keep to it."""
        return next((name for name in ("float16", "float32") if name in _dtypes(self.table)), "float64")

    @cached_property
    def table_with_missing(self) -> Any | None:
        """The points followed by the first of `missing_tables`; None if a column would change its dtype."""
        if not self.missing_tables:
            return None
        table = self.decode(np.concatenate([self.points, self.missing_tables[0][1]]))
        return table if _dtypes(table) == _dtypes(self.table) else None

    @cached_property
    def missing_tables(self) -> list[tuple[BoolArray, FloatArray, Any]]:
        """Small tables with missing values: which columns are missing, two points, the points as a table.

        Only the first of the two points has missing values. The first table has them in all columns that can be
        missing, the next ones in categorical or in numeric columns only: transformers may refuse one kind and take
        the other.
        """
        can_be_missing = np.array([self._decodes_missing(j) for j in range(self.width)], dtype=bool)
        categorical = np.isin(np.arange(self.width), list(self.n_levels))
        kinds = (can_be_missing, can_be_missing & categorical, can_be_missing & ~categorical)
        return [(kind, points, self.decode(points)) for kind in kinds if kind.any() for points in [self._pair(kind)]]

    def _pair(self, missing: BoolArray) -> FloatArray:
        return np.stack([np.where(missing, np.nan, self.points[0]), self.points[0]])

    def _decodes_missing(self, column: int) -> bool:
        try:
            # A missing value cast to a whole number is some number, and no error unless asked for.
            with np.errstate(invalid="raise"):
                self.decode(self._pair(np.arange(self.width) == column))
        except (TypeError, ValueError, FloatingPointError):  # this column of the table has no way to say "missing"
            return False
        return True

    @cached_property
    def _complete_examples(self) -> FloatArray:
        """The first examples, missing numbers filled from other rows."""
        if self.examples is None:
            return np.empty((0, self.width))
        rows = np.array(self.examples[:_EXTRA, : self.width], dtype=np.float64)
        for column in rows.T:
            known = column[~np.isnan(column)]
            column[np.isnan(column)] = known[0] if len(known) else 0.0
        return rows


def _dtypes(table: Any) -> list[str]:
    return [str(dtype).lower() for dtype in getattr(table, "dtypes", [getattr(table, "dtype", "")])]
