"""Where the columns of a table on its way to a model come from."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from betarce.ensemble.preprocessing.scaling import Op, Ops


@dataclass(frozen=True)
class Trace:
    """Where a column comes from: a column of the point, by arithmetic if that holds numbers and by any way if codes."""

    source: int
    coded: bool
    ops: Ops = ()

    def then(self, *ops: Op) -> "Trace":
        """Add steps; those of a code are not followed, since its few values can be asked for."""
        return self if self.coded else replace(self, ops=self.ops + ops)


@dataclass(frozen=True)
class Traced:
    """The columns of a table on its way to a model.

    `names` are those of the user's own table, and None behind the first transformer, where positions are those that
    the next one was fitted on. `precision` is that of the arithmetic, if the table is not in float64.
    """

    columns: tuple[Trace, ...]
    names: tuple[Hashable, ...] | None
    sparse: bool = False
    precision: str = "float64"

    def made(self, columns: Sequence[Trace], sparse: bool | None = None) -> "Traced":
        """Give what a transformer makes of them."""
        return replace(self, columns=tuple(columns), names=None, sparse=self.sparse if sparse is None else sparse)
