"""Depths at which a ladder has its rungs."""

import numpy as np

from betarce.arrays import FloatArray

DEEPEST = 8.0
SHALLOWEST = 0.8
N_RUNGS = 32
_STEP = 0.1  # of the level, at most
_SHARE = 0.15  # of the way down to the base, at most


def levels_above(depth: FloatArray) -> FloatArray:
    """Give each row its levels, deepest first, shape (n, rungs); the last, -inf, takes every point.

    Far above the base a rung is a tenth less deep than the one before. Distance goes as the depth above the *base's*,
    so close to it steps are a share of what is left: else the last step of a base that is nearly deep enough would be
    many times its whole way.

    Parameters
    ----------
    depth : array of shape (n,)
        How deep the bases are.

    Examples
    --------
    >>> levels_above(np.array([1.5]))[0, [0, 1, 2, -3, -2, -1]].round(2)
    array([8.  , 7.2 , 6.48, 1.56, 1.55, -inf])
    """
    level = np.full(len(depth), DEEPEST)
    levels = [level]
    for _ in range(N_RUNGS - 1):
        level = level - np.minimum(_STEP * level, _SHARE * np.maximum(level - depth, 0))
        levels.append(np.where(level < SHALLOWEST, -np.inf, level))
    return np.stack([*levels, np.full(len(depth), -np.inf)], axis=1)
