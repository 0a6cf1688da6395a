"""Columns of an intermediate table, traced back to the columns of a point."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from betarce.ensemble.preprocessing.scaling import Op, Ops


@dataclass(frozen=True)
class TracedColumn:
    """One column of an intermediate table.

    Attributes
    ----------
    source : int
        The column of the point that it comes from.
    categorical : bool
        Whether the source holds the codes of categories. What is made of a code is not traced, since its few values
        can be asked for.
    ops : tuple of Op
        For a numeric source, the arithmetic so far.
    """

    source: int
    categorical: bool
    ops: Ops = ()

    def then(self, *ops: Op) -> "TracedColumn":
        """Add operations; those on a categorical column are not traced.

        Examples
        --------
        >>> TracedColumn(source=0, categorical=False).then(Op("-", 1.0)).ops
        (Op(symbol='-', number=1.0, precision='float64'),)
        """
        return self if self.categorical else replace(self, ops=self.ops + ops)


@dataclass(frozen=True)
class TracedTable:
    """The columns of a table between two transformers.

    Attributes
    ----------
    columns : tuple of TracedColumn
    names : tuple of hashable or None
        The names of the user's own table. None behind the first transformer: the next one was fitted on positions.
    sparse : bool
        Whether the table is a sparse matrix.
    precision : str
        The precision of the arithmetic, if the table is not in float64.
    """

    columns: tuple[TracedColumn, ...]
    names: tuple[Hashable, ...] | None
    sparse: bool = False
    precision: str = "float64"

    def transformed(self, columns: Sequence[TracedColumn], *, sparse: bool | None = None) -> "TracedTable":
        """Give the table behind a transformer that makes these columns."""
        return replace(self, columns=tuple(columns), names=None, sparse=self.sparse if sparse is None else sparse)
