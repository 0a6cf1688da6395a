"""Calibrated classifiers: the mean over folds of what a calibration curve makes of each answer."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from betarce.arrays import FloatArray
from betarce.ensemble.composites.combination import Scored
from betarce.ensemble.composites.isotonic import IsotonicCurve, StackedCurves, read_curves, stack_curves
from betarce.ensemble.intervals import UNIT, Interval, scored, shares

_EPS = 1e-12  # what scikit-learn adds to a probability before it takes the logarithm
_FLAT = 1e-9


@dataclass(frozen=True, eq=False)
class Calibration:
    """The calibration curves of one member; see `Combination`.

    Attributes
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
    numbers : array of float, shape (folds, outputs, 2)
        Slope and intercept of each sigmoid; in the first place the inverse temperature.
    curves : tuple of tuple of IsotonicCurve
        Isotonic curves by fold and output.
    of_probability : bool
        Whether the curves take probabilities or values of a decision function.
    final : None
        The member itself gives the scores.
    """

    method: str
    numbers: FloatArray
    curves: tuple[tuple[IsotonicCurve, ...], ...] = ()
    of_probability: bool = False
    final: object | None = None

    @property
    def shape(self) -> Hashable:
        """Kind and number of the curves."""
        folds = self.numbers.shape[:2] if self.method != "isotonic" else (len(self.curves), len(self.curves[0]))
        return ("calibrated", self.method, self.of_probability, *folds)

    def stacked(self, members: Sequence["Calibration"], unit: float) -> "Calibrations":
        """Stack the curves of all members."""
        numbers = np.stack([each.numbers for each in members])
        return Calibrations(self.method, numbers, [each.curves for each in members], self.of_probability, unit)


@dataclass(frozen=True, eq=False)
class Calibrations:
    """The calibration curves of many members; see `Combiner`."""

    method: str
    numbers: FloatArray  # (members, folds, outputs, 2)
    curves: list[tuple[tuple[IsotonicCurve, ...], ...]]
    of_probability: bool
    unit: float

    gives_probabilities = True

    @property
    def is_smooth(self) -> bool:
        """Whether there are gradients: sigmoid curves have them."""
        return self.method == "sigmoid"

    def scored(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Scored:
        """Give scores and doubt; see `Combiner`."""
        return scored(self.probabilities(answers, X, members))

    def probabilities(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Interval:
        """Give the mean of the folds."""
        curved = [self._curved(answer, fold, members) for fold, answer in enumerate(answers)]
        binary = answers[0].low.shape[-1] == 1
        if not binary:
            curved = [self._normalised(each) for each in curved]
        wide = Interval(*(_total(sides) / len(curved) for sides in zip(*curved, strict=True))).widened(self.unit)
        if not binary or self.method != "isotonic" or self.unit > UNIT:
            return wide
        unknown = curved[0].low != curved[0].high
        for each in curved[1:]:
            unknown |= each.low != each.high
        exact = _settled([each.low for each in curved])
        return Interval(np.where(unknown, wide.low, exact), np.where(unknown, wide.high, exact))

    def gradients(self, answers: Sequence[FloatArray]) -> list[FloatArray]:
        """Give the gradient of the log-odds in each fold's answer."""
        slope, shift = np.moveaxis(self.numbers, -1, 0)  # (members, folds, 1)
        p = [expit(-(slope[:, k] * answer + shift[:, k])) for k, answer in enumerate(answers)]
        mean = np.mean(p, axis=0)
        spread = np.maximum(mean * (1 - mean), _FLAT) * len(answers)
        return [-slope[:, k] * each * (1 - each) / spread for k, each in enumerate(p)]

    def slopes(self, X: FloatArray, weights: FloatArray) -> float:
        """Give zero: only the answers depend on the points."""
        return 0.0

    def _curved(self, answer: Interval, fold: int, members: slice) -> Interval:
        if self.method == "isotonic":
            return self._interpolated(answer, fold, members)
        first, second = np.moveaxis(self.numbers[members, fold], -1, 0)  # (members, outputs)
        if self.method == "temperature":
            if self.of_probability:
                answer = Interval(*(np.log(p + _EPS) - np.log(1 - p + _EPS) for p in np.clip(answer, 0.0, 1.0)))
            scale = first if self.of_probability else 2 * first
            ends = [scale * side for side in answer]
        else:
            ends = [-(first * side + second) for side in answer]
        slack = self.unit * (1.0 + np.abs(ends[0]) + np.abs(ends[1]) + 2 * np.abs(second))
        return Interval(expit(np.minimum(*ends) - slack), expit(np.maximum(*ends) + slack)).widened(self.unit)

    def _interpolated(self, answer: Interval, fold: int, members: slice) -> Interval:
        shape = answer.low.shape
        curves = self._by_fold[fold]
        first = members.indices(len(self.curves))[0] * shape[-1]
        low, high = (read_curves(side.reshape(len(side), -1), curves, first).reshape(shape) for side in answer)
        # Where both ends lie on one flat piece, the value is known to the bit.
        slack = self.unit * (low != high)
        return Interval(low - slack, high + slack)

    @cached_property
    def _by_fold(self) -> list[StackedCurves]:
        """The curves of all members and outputs, fold by fold."""
        n_folds = len(self.curves[0])
        return [stack_curves([curve for member in self.curves for curve in member[fold]]) for fold in range(n_folds)]

    def _normalised(self, curved: Interval) -> Interval:
        """Divide by the sum; uniform where all classes have zero for sure."""
        divided = shares(curved, self.unit)
        none = (curved.high <= 0).all(axis=-1, keepdims=True)
        even = 1 / curved.low.shape[-1]
        return Interval(np.where(none, even, divided.low), np.where(none, even, divided.high)).widened(self.unit)


def _settled(folds: Sequence[FloatArray]) -> FloatArray:
    """Average probabilities that are known to the bit, so that one next to one half is on the side of its label.

    Isotonic curves are flat over many points, and means of simple fractions are often one half: no close calls, but
    ties, which the first class wins. Both classes are added up as scikit-learn does, in its order.
    """
    first, second = np.zeros((2, *folds[0].shape))
    for fold in folds:
        first += 1.0 - fold
        second += fold
    first /= len(folds)
    second /= len(folds)
    wins = second > first
    np.minimum(second, 0.5, out=second, where=~wins)
    np.maximum(second, np.nextafter(0.5, 1.0), out=second, where=wins)
    return np.asarray(second)


def _total(parts: Sequence[FloatArray]) -> FloatArray:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
