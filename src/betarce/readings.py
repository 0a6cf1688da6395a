"""How a column of the user's table is read off a point."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Reading:
    """One column of the raw table, as a function of one column of a point.

    Attributes
    ----------
    name : hashable
        What the table calls it.
    source : int
        The column of the point.
    levels : sequence or None
        The raw value of each code; None where the point holds the raw value itself.
    """

    name: Hashable
    source: int
    levels: Sequence[Any] | None = None
