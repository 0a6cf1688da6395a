"""A few points on which transformers are watched: every level of every coded column, and every column missing."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.features.readings import Reading

_EXTRA = 24  # points beyond those that show every level


@dataclass(frozen=True, eq=False)
class Witness:
    """How tables are read off points, and a small table of each kind.

    Attributes
    ----------
    readings : tuple of Reading
    decode : callable
        Turns points into a table.
    width : int
        Columns of a point.
    probe : array of shape (n, width) or None
        Points of the user's own, from which numbers are taken.

    Examples
    --------
    >>> readings = (Reading("age", 0), Reading("city", 1, ("Bonn", "Oslo", "Rome")))
    >>> Witness(readings, np.asarray, width=2).points[:3, 1]
    array([0., 1., 2.])
    """

    readings: tuple[Reading, ...]
    decode: Callable[[FloatArray], Any]
    width: int
    probe: FloatArray | None = None

    @classmethod
    def of_numbers(cls, width: int, decode: Callable[[FloatArray], Any], probe: FloatArray | None) -> "Witness":
        """Read points that are rows of the table themselves."""
        return cls(tuple(Reading(f"x{j}", j) for j in range(width)), decode, width, probe)

    @cached_property
    def is_plain(self) -> bool:
        """Whether a point is a row of the table, number by number."""
        return [(r.source, r.levels is None) for r in self.readings] == [(j, True) for j in range(self.width)]

    @cached_property
    def n_levels(self) -> dict[int, int]:
        """How many codes each coded column of a point has."""
        return {r.source: len(r.levels) for r in self.readings if r.levels is not None}

    @cached_property
    def points(self) -> FloatArray:
        """Points without missing values that show every level, in the order of the codes, and then some."""
        n_shown = max([1, *self.n_levels.values()])
        rng = np.random.default_rng(0)
        rows = np.arange(n_shown + _EXTRA)
        # Whole numbers where nothing is known: they survive a table of whole numbers.
        points = np.repeat((rows % 2)[:, None], self.width, axis=1).astype(np.float64)
        seen = self._numbers
        if len(seen):
            points[:] = seen[rows % len(seen)]
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
        return next((name for name in ("float16", "float32") if name in _types(self.table)), "float64")

    @cached_property
    def everything(self) -> Any | None:
        """These points and the first of the missing ones as one table; None if that changes the type of a column."""
        if not self.missing_tables:
            return None
        table = self.decode(np.concatenate([self.points, self.missing_tables[0][1]]))
        return table if _types(table) == _types(self.table) else None

    @cached_property
    def missing_tables(self) -> list[tuple[BoolArray, FloatArray, Any]]:
        """Tables with much missing, and tables with less: which columns are, two points, one of them whole, as a table.

        Transformers may refuse missing levels and take missing numbers, or the other way round.
        """
        open_to = np.array([self._decodes_missing(j) for j in range(self.width)], dtype=bool)
        coded = np.isin(np.arange(self.width), list(self.n_levels))
        kinds = [gone for gone in (open_to, open_to & coded, open_to & ~coded) if gone.any()]
        return [(gone, points, self.decode(points)) for gone in kinds for points in [self._holed(gone)]]

    def _holed(self, gone: BoolArray) -> FloatArray:
        return np.stack([np.where(gone, np.nan, self.points[0]), self.points[0]])

    def _decodes_missing(self, column: int) -> bool:
        try:
            # A missing value cast to a whole number is some number, and no error unless asked for.
            with np.errstate(invalid="raise"):
                self.decode(self._holed(np.arange(self.width) == column))
        except (TypeError, ValueError, FloatingPointError):  # this column of the table has no way to say "missing"
            return False
        return True

    @cached_property
    def _numbers(self) -> FloatArray:
        """Whole rows of the probe; missing numbers are taken from other rows where none is whole."""
        if self.probe is None:
            return np.empty((0, self.width))
        seen = np.array(self.probe[:_EXTRA, : self.width], dtype=np.float64)
        for column in seen.T:
            known = column[~np.isnan(column)]
            column[np.isnan(column)] = known[0] if len(known) else 0.0
        return seen


def _types(table: Any) -> list[str]:
    return [str(dtype).lower() for dtype in getattr(table, "dtypes", [getattr(table, "dtype", "")])]
