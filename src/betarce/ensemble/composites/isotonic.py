"""Isotonic calibration curves: linear between points, flat beyond them.

Two ways give the same numbers to the bit: `_read`, compiled, and `np.interp`, where numba is not installed.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.ensemble.compilation import compile_functions


class IsotonicCurve(NamedTuple):
    """A curve that is linear between points and flat beyond them."""

    x: FloatArray
    y: FloatArray


class StackedCurves(NamedTuple):
    """Curves end to end: curve j goes from start[j] to start[j + 1]."""

    x: FloatArray
    y: FloatArray
    start: IntArray


def stack_curves(curves: Sequence[IsotonicCurve]) -> StackedCurves:
    """Lay curves end to end.

    Examples
    --------
    >>> line = IsotonicCurve(np.array([0.0, 1.0]), np.array([0.2, 0.4]))
    >>> stack_curves([line, line]).start.tolist()
    [0, 2, 4]
    """
    start = np.cumsum([0] + [len(curve.x) for curve in curves])
    x, y = (np.concatenate(sides).astype(np.float64) for sides in zip(*curves, strict=True))
    return StackedCurves(x, y, start)


def read_curves(values: FloatArray, curves: StackedCurves, first: int = 0) -> FloatArray:
    """Read curve `first` + j at the values of column j; NaN stays NaN.

    Parameters
    ----------
    values : array of shape (n, columns)
    curves : StackedCurves
    first : int
        The curve of the first column.

    Returns
    -------
    array of shape (n, columns)

    Examples
    --------
    >>> line = IsotonicCurve(np.array([0.0, 1.0]), np.array([0.2, 0.4]))
    >>> read_curves(np.array([[0.5], [2.0]]), stack_curves([line])).round(2).tolist()
    [[0.3], [0.4]]
    """
    found = np.empty(values.shape)
    read = compiled()
    if read is not None:
        read(np.ascontiguousarray(values), curves, first, found)
        return found
    for j in range(values.shape[1]):
        begin, end = curves.start[first + j : first + j + 2]
        found[:, j] = np.interp(values[:, j], curves.x[begin:end], curves.y[begin:end])
    # Of a curve of one point, `interp` gives the height even for NaN.
    found[np.isnan(values)] = np.nan
    return found


@cache
def compiled() -> Any:
    """Compile what reads curves; None without numba."""
    functions = compile_functions(_read)
    return None if functions is None else functions[0]


def _read(values: FloatArray, curves: StackedCurves, first: int, found: FloatArray) -> None:
    """Write what `np.interp` gives, by the same arithmetic."""
    for j in range(values.shape[1]):
        begin, end = curves.start[first + j], curves.start[first + j + 1]
        x, y = curves.x[begin:end], curves.y[begin:end]
        for i in range(values.shape[0]):
            value = values[i, j]
            at, stop = 0, len(x)
            while at < stop - 1:
                middle = (at + stop) // 2
                if x[middle] <= value:
                    at = middle
                else:
                    stop = middle
            if np.isnan(value):
                found[i, j] = value
            elif value <= x[at] or at == len(x) - 1:
                found[i, j] = y[at]
            else:
                found[i, j] = (y[at + 1] - y[at]) / (x[at + 1] - x[at]) * (value - x[at]) + y[at]
