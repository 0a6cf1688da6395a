"""The protocol of combinations: how a model combines the answers of the models it is made of."""

from collections.abc import Hashable, Sequence
from typing import Protocol, Self

from betarce.arrays import FloatArray
from betarce.ensemble.intervals import Interval

Scored = tuple[FloatArray, FloatArray]


class Combiner(Protocol):
    """The combinations of many members, applied at once.

    `answers` has one entry for each part of a member, of shape (n, members, 1) for two classes and for labels, and
    (n, members, classes) for more. What is given back has the same shape.
    """

    @property
    def gives_probabilities(self) -> bool:
        """Whether the members have `predict_proba`."""

    @property
    def is_smooth(self) -> bool:
        """Whether `gradients` are known."""

    def scored(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Scored:
        """Give the scores of points and the bound on their rounding; see `Kernel`."""

    def probabilities(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Interval:
        """Give what `predict_proba` would."""

    def gradients(self, answers: Sequence[FloatArray]) -> list[FloatArray]:
        """Give the gradient of the scores of two classes in each answer, each of shape (n, members, 1)."""

    def slopes(self, X: FloatArray, weights: FloatArray) -> FloatArray | float:
        """Give the gradient of the weighted sum of the scores in the points, apart from what passes through answers."""


class Combination(Protocol):
    """How one member combines the answers of its parts."""

    @property
    def shape(self) -> Hashable:
        """What members must share to be stacked."""

    @property
    def final(self) -> object | None:
        """The estimator whose response gives the scores; None if it is the member itself."""

    def stacked(self, members: Sequence[Self], unit: float) -> Combiner:
        """Stack the combinations of all members; `unit` is the rounding of their parts' answers."""
