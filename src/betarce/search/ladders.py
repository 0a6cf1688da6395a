"""Ladders: the candidates of each row, from the safest to the closest."""

from dataclasses import dataclass

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Ladders:
    """One ladder per row: a sequence of rungs (points), safest first and closest last.

    Attributes
    ----------
    points : array of shape (n, rungs, d)
    exists : array of bool, shape (n, rungs)
        Which rungs hold a point.
    levels : array of float, shape (n, rungs)
        The depth that each rung's points have at least.
    n_evaluations : array of int, shape (n,)
    spent : array of bool, shape (n,)
        Whether the budget ran out before the search was complete.

    Examples
    --------
    >>> ladders = Ladders(
    ...     points=np.array([[[3.0], [2.0]]]),
    ...     exists=np.array([[True, True]]),
    ...     levels=np.array([[1.0, 0.0]]),
    ...     n_evaluations=np.array([12]),
    ...     spent=np.array([False]),
    ... )
    >>> ladders.points[0, -1]
    array([2.])
    """

    points: FloatArray
    exists: BoolArray
    levels: FloatArray
    n_evaluations: IntArray
    spent: BoolArray

    def __post_init__(self) -> None:
        n, k = self.exists.shape if self.exists.ndim == 2 else (-1, -1)
        wanted = {"points": (n, k), "levels": (n, k), "n_evaluations": (n,), "spent": (n,)}
        for name, shape in wanted.items():
            part = getattr(self, name)
            if part.shape[: len(shape)] != shape or part.ndim != len(shape) + (name == "points"):
                raise InvalidInput(
                    f"`{name}` of ladders must have one entry per row{' and rung' * (len(shape) == 2)}, as `exists` "
                    f"of shape {self.exists.shape} has; got shape {part.shape}."
                )
        for name in ("exists", "spent"):
            if getattr(self, name).dtype != bool:
                raise InvalidInput(f"`{name}` of ladders must be bool; got {getattr(self, name).dtype}.")

    @classmethod
    def none(cls, n_rows: int, n_features: int) -> "Ladders":
        """Give ladders without any rung."""
        return cls(
            np.zeros((n_rows, 1, n_features)),
            np.zeros((n_rows, 1), dtype=bool),
            np.full((n_rows, 1), -np.inf),
            np.zeros(n_rows, dtype=np.intp),
            np.zeros(n_rows, dtype=bool),
        )

    def spread(self, rows: IntArray, n_rows: int) -> "Ladders":
        """Give these ladders to some of `n_rows` rows, and none to the others."""
        whole = [np.zeros((n_rows, *part.shape[1:]), dtype=part.dtype) for part in self._by_row]
        for target, part in zip(whole, self._by_row, strict=True):
            target[rows] = part
        points, exists, levels, n_evaluations, spent = whole
        return Ladders(points, exists, levels, n_evaluations, spent)

    @property
    def _by_row(self) -> tuple[FloatArray, BoolArray, FloatArray, IntArray, BoolArray]:
        return self.points, self.exists, self.levels, self.n_evaluations, self.spent
