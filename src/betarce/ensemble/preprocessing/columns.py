"""Preprocessed columns as functions of raw columns."""

from dataclasses import dataclass

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.preprocessing.scaling import Ops, apply


@dataclass(frozen=True, eq=False)
class OutputColumn:
    """One column of the preprocessed table, computed from one column of a point.

    Attributes
    ----------
    source : int
        The column of the point.
    lookup : array of float or None
        For a categorical source, the output for each code; the last entry is for a missing value. None for a numeric
        source.
    ops : tuple of Op
        For a numeric source, the arithmetic.
    missing : float
        For a numeric source, the output for a missing value: NaN if it stays missing.

    Examples
    --------
    >>> OutputColumn(source=1, lookup=np.array([0.0, 1.0, 0.5])).values(np.array([1.0, 0.0, np.nan]))
    array([1. , 0. , 0.5])
    """

    source: int
    lookup: FloatArray | None = None
    ops: Ops = ()
    missing: float = np.nan

    def values(self, x: FloatArray) -> FloatArray:
        """Compute the column from its source."""
        missing = np.isnan(x)
        if self.lookup is not None:
            return self.lookup[np.where(missing, len(self.lookup) - 1, x).astype(np.intp)]
        return np.where(missing, self.missing, apply(self.ops, x))


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """All that stands before the estimator of a fitted pipeline, column by column.

    Attributes
    ----------
    outputs : tuple of OutputColumn
        The columns that the estimator gets, in its order.
    refuses_missing : frozenset of int
        Columns of the point in which a missing value may raise an error: only the model can say.
    sparse : bool
        Whether the estimator gets a sparse matrix.
    precision : str
        The precision of the arithmetic.

    Examples
    --------
    >>> doubled = OutputColumn(source=0, lookup=np.array([0.0, 2.0, np.nan]))
    >>> Preprocessing((doubled, OutputColumn(source=1))).transform(np.array([[1.0, 7.5]]))
    array([[2. , 7.5]])
    """

    outputs: tuple[OutputColumn, ...]
    refuses_missing: frozenset[int] = frozenset()
    sparse: bool = False
    precision: str = "float64"

    def transform(self, points: FloatArray) -> FloatArray:
        """Compute the input of the estimator, shape (n, outputs)."""
        if not self.outputs:
            return np.empty((len(points), 0))
        return np.stack([output.values(points[:, output.source]) for output in self.outputs], axis=1)

    @classmethod
    def identity(cls, width: int) -> "Preprocessing":
        """Give the estimator the point as it is."""
        return cls(tuple(OutputColumn(j) for j in range(width)))
