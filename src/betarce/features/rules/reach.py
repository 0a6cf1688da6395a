"""Where a rule lets the values of one column go."""

from dataclasses import dataclass

import numpy as np

from betarce.arrays import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Ends:
    """Where values of a column may end, wherever they are now; None where a rule is silent.

    Attributes
    ----------
    low, high : float or None
        The range, which takes the place of that of the training data.
    values : array of shape (k,) or None
        The only values, ascending: numbers, or codes of levels.

    Examples
    --------
    >>> Ends(low=0.0, high=10.0).high
    10.0
    """

    low: float | None = None
    high: float | None = None
    values: FloatArray | None = None

    def __and__(self, other: "Ends") -> "Ends":
        values = other.values if self.values is None else self.values
        if self.values is not None and other.values is not None:
            values = np.intersect1d(self.values, other.values)
        return Ends(largest(self.low, other.low), least(self.high, other.high), values)


@dataclass(frozen=True, eq=False)
class Moves:
    """Where values of a column may go from where they are; None where a rule is silent.

    Attributes
    ----------
    lower, upper : array of shape (rows,) or None
        How far down and up.
    allowed : array of bool, shape (rows, levels), or None
        Which levels each row may take; for columns that have some.

    Examples
    --------
    >>> Moves(lower=np.array([1.0, 2.0])).upper is None
    True
    """

    lower: FloatArray | None = None
    upper: FloatArray | None = None
    allowed: BoolArray | None = None

    def __and__(self, other: "Moves") -> "Moves":
        lower, upper, allowed = self.lower, self.upper, self.allowed
        if other.lower is not None:
            lower = other.lower if lower is None else np.fmax(lower, other.lower)
        if other.upper is not None:
            upper = other.upper if upper is None else np.fmin(upper, other.upper)
        if other.allowed is not None:
            allowed = other.allowed if allowed is None else allowed & other.allowed
        return Moves(lower, upper, allowed)


def least(one: float | None, other: float | None) -> float | None:
    """Give the smaller of two bounds, either of which may be silent.

    Examples
    --------
    >>> least(2.0, None), least(2.0, 1.0), least(None, None)
    (2.0, 1.0, None)
    """
    return one if other is None else other if one is None else min(one, other)


def largest(one: float | None, other: float | None) -> float | None:
    """Give the larger of two bounds, either of which may be silent."""
    return one if other is None else other if one is None else max(one, other)
