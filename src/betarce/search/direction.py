"""The direction that gains most depth for its cost, where cost is a mixture of L1 and L2."""

import numpy as np

from betarce.arrays import FloatArray

_HALVINGS = 30
_DIGITS = 4  # slopes differ in their last bits from batch to batch; the direction must not


def steepest(slopes: FloatArray, share: float) -> FloatArray:
    """Give the cheapest direction of ascent, a row of unit L2 for each row of slopes.

    Parameters
    ----------
    slopes : array of shape (n, d)
        Per unit of distance along each feature.
    share : float
        The share of L2 in the cost: 1 gives the gradient, 0 its largest part alone.

    Notes
    -----
    Of all u with slopes . u = 1, the one of least (1 - share) |u|_1 + share |u|_2 has each u_j in proportion to what
    |slope_j| exceeds a threshold t by, and t solves (1 - share) |(|slopes| - t)_+|_2 = share t. These are the
    conditions of Karush, Kuhn and Tucker.

    Examples
    --------
    >>> steepest(np.array([[3.0, -4.0]]), share=1.0).round(2)
    array([[ 0.6, -0.8]])
    >>> steepest(np.array([[3.0, -4.0]]), share=0.0)
    array([[ 0., -1.]])
    """
    size = np.abs(slopes)
    size = np.round(size / np.maximum(size.max(axis=1, keepdims=True), np.finfo(float).tiny), _DIGITS)
    # Without any L2, the threshold is just below the largest slope.
    above = (size == 1).astype(np.float64) if share == 0 else np.maximum(size - _thresholds(size, share), 0)
    direction = np.sign(slopes) * above
    return np.asarray(direction / np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), np.finfo(float).tiny))


def _thresholds(size: FloatArray, share: float) -> FloatArray:
    """Solve for the threshold of each row by halving, shape (n, 1)."""
    low, high = np.zeros((len(size), 1)), np.ones((len(size), 1))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        excess = np.linalg.norm(np.maximum(size - middle, 0), axis=1, keepdims=True)
        below = (1 - share) * excess > share * middle
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low
