"""The protocol of rules that hold between columns."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from betarce.arrays import BoolArray, FloatArray
from betarce.features.columns import Column

if TYPE_CHECKING:
    from betarce.features.box import Box


class Relation(Protocol):
    """What holds between some columns of each row."""

    @property
    def places(self) -> Sequence[int]:
        """The columns."""

    def apply(self, points: FloatArray, box: "Box", columns: Sequence[Column]) -> None:
        """Make projected points obey as far as their box lets them; they are changed in place."""

    def violations(self, points: FloatArray) -> BoolArray:
        """Say which points disobey, shape (rows,)."""

    def conflicts(self, box: "Box", columns: Sequence[Column]) -> Iterator[tuple[int, str]]:
        """Name the rows in which no point of the box obeys, with the reason."""
