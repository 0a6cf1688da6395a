"""Readings: each column of the user's table as a function of a point."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from betarce.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Reading:
    """One column of the user's table, as a function of one column of a point.

    Attributes
    ----------
    name : hashable
        What the table calls it.
    source : int
        The column of the point.
    levels : sequence or None
        None: the value is the point's own number. Else the number is a code, and `levels[code]` the value. Missing in
        the table wherever the point has NaN.

    Examples
    --------
    >>> city = Reading("city", source=1, levels=("Bonn", "Oslo"))
    >>> point = [41.0, 1.0]
    >>> city.levels[int(point[city.source])]
    'Oslo'
    """

    name: Hashable
    source: int
    levels: Sequence[Any] | None = None

    @property
    def is_text(self) -> bool:
        """Whether all its values are text, even those that look like numbers."""
        return self.levels is not None and all(isinstance(level, str) for level in self.levels)


class Readable(Protocol):
    """What an ensemble asks of a feature space."""

    @property
    def readings(self) -> tuple[Reading, ...]:
        """One for each column of the table, in its order."""

    def decode(self, points: FloatArray) -> Any:
        """Turn points into the table that models predict on."""
