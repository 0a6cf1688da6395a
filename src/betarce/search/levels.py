"""The depths at which a ladder has its rungs."""

import math

import numpy as np

from betarce.arrays import FloatArray

DEEPEST = 8.0
SHALLOWEST = 0.8
CLOSE = 3.0  # votes are decided below this depth, as a rule
N_RUNGS = 40
_STEP, _STEP_ABOVE = 0.07, 0.2  # of the level, at most
_SHARE = 0.12  # of the way down to the base, at most
_FEW = 8  # rows for which plain numbers are faster than arrays


def levels_above(depth: FloatArray) -> FloatArray:
    """Give each row its levels, deepest first, shape (n, rungs); the last, -inf, takes every point.

    Where votes are decided a rung is a few percent less deep than the one before. Distance goes as the depth above the
    *base's*, so close to it steps are a share of what is left: else the last step of a base that is nearly deep enough
    would be many times its whole way.

    Parameters
    ----------
    depth : array of shape (n,)
        How deep the bases are.

    Examples
    --------
    >>> levels_above(np.array([1.5]))[0, [0, 1, 2, -3, -2, -1]].round(2)
    array([8.  , 7.22, 6.53, 1.55, 1.54, -inf])
    """
    if len(depth) <= _FEW:
        return np.array([_levels_above(each) for each in depth.tolist()]).reshape(len(depth), N_RUNGS + 1)
    level = np.full(len(depth), DEEPEST)
    levels = [level]
    for _ in range(N_RUNGS - 1):
        step = np.where(level > CLOSE, _STEP_ABOVE, _STEP)
        level = level - np.minimum(step * level, _SHARE * np.maximum(level - depth, 0))
        levels.append(np.where(level < SHALLOWEST, -np.inf, level))
    return np.stack([*levels, np.full(len(depth), -np.inf)], axis=1)


def _levels_above(depth: float) -> list[float]:
    """Give one row its levels, by the arithmetic of `levels_above`, to the bit."""
    level, levels = DEEPEST, [DEEPEST]
    for _ in range(N_RUNGS - 1):
        step = _STEP_ABOVE if level > CLOSE else _STEP
        level -= min(step * level, _SHARE * max(level - depth, 0.0))
        levels.append(-math.inf if level < SHALLOWEST else level)
    return [*levels, -math.inf]
