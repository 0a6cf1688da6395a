"""Interval arithmetic for numbers that are known up to rounding."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from betarce.arrays import FloatArray

UNIT = 16 * float(np.finfo(np.float64).eps)  # a few operations on numbers up to one, each rounded
_LEAST = 1e-9  # probabilities this close to 0 or 1 say no more than "sure"
_TINY = float(np.finfo(np.float64).tiny)


class Interval(NamedTuple):
    """Lower and upper bounds on numbers, as two arrays of one shape; NaN where nothing is known."""

    low: FloatArray
    high: FloatArray

    @property
    def middle(self) -> FloatArray:
        """The middle of the bounds."""
        return np.asarray((self.low + self.high) / 2)

    def widened(self, by: FloatArray | float) -> "Interval":
        """Add a rounding error on both sides."""
        return Interval(self.low - by, self.high + by)


def sigmoid(logits: Interval, unit: float = UNIT) -> Interval:
    """Turn log-odds into probabilities.

    Examples
    --------
    >>> sigmoid(Interval(np.array([-1.0]), np.array([1.0]))).middle
    array([0.5])
    """
    return Interval(expit(logits.low), expit(logits.high)).widened(unit)


def softmax(logits: Interval, unit: float = UNIT) -> Interval:
    """Turn the logits of all classes, along the last axis, into probabilities."""
    top = logits.high.max(axis=-1, keepdims=True)
    return shares(Interval(np.exp(logits.low - top), np.exp(logits.high - top)), unit)


def shares(parts: Interval, unit: float = UNIT) -> Interval:
    """Divide numbers that are not negative by their sum along the last axis; NaN where that may be zero.

    Examples
    --------
    >>> shares(Interval(np.array([1.0, 3.0]), np.array([1.0, 3.0]))).middle
    array([0.25, 0.75])
    """
    low, high = np.maximum(parts.low, 0.0), np.maximum(parts.high, 0.0)
    others_low, others_high = (side.sum(axis=-1, keepdims=True) - side for side in (low, high))
    with np.errstate(invalid="ignore", divide="ignore"):
        return Interval(low / (low + others_high), high / (high + others_low)).widened(unit)


def log_odds(probability: Interval) -> tuple[FloatArray, FloatArray]:
    """Give scores of two classes and the doubt about them, from the probability of the second.

    A probability that is one half for sure is a tie, and goes to the first class, as in `argmax`.
    """
    low, high = (np.clip(side, _LEAST, 1 - _LEAST) for side in probability)
    low, high = (np.log(side) - np.log1p(-side) for side in (low, high))
    tie = (probability.low == 0.5) & (probability.high == 0.5)
    return np.where(tie, -_TINY, (low + high) / 2), (high - low) / 2


def log_probabilities(probabilities: Interval) -> tuple[FloatArray, FloatArray]:
    """Give scores of several classes, and as doubt zero where the best is the best for sure, infinity elsewhere."""
    middle = probabilities.middle
    best = middle.argmax(axis=-1)[..., np.newaxis]
    rivals = probabilities.high.copy()
    np.put_along_axis(rivals, best, -np.inf, axis=-1)
    sure = np.take_along_axis(probabilities.low, best, axis=-1)[..., 0] > rivals.max(axis=-1)
    return np.log(np.clip(middle, _LEAST, 1.0)), np.where(sure, 0.0, np.inf)


def scored(probabilities: Interval) -> tuple[FloatArray, FloatArray]:
    """Give scores and doubt: of two classes from shape (n, m, 1), of more from (n, m, classes)."""
    if probabilities.low.shape[-1] == 1:
        return log_odds(Interval(probabilities.low[..., 0], probabilities.high[..., 0]))
    return log_probabilities(probabilities)
