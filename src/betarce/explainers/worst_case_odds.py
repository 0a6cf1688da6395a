"""Worst-case odds between two clouds of Gaussians that may shift: what robust Bayesian recourse minimises."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from betarce.arrays import BoolArray, FloatArray, IntArray

CLOSE = 1e-12  # nearer than this is there: at a sample, or at the wall
_ANGLES = 64  # directions in which the mean and the spread of a Gaussian are shifted
_KNOTS = 256  # distances at which worst cases are worked out; between them they are interpolated


@dataclass(frozen=True, eq=False)
class Odds:
    """Worst-case log-odds of the old class, for each row its own.

    Attributes
    ----------
    samples : array of shape (n, samples, d)
    wanted : array of bool, shape (n, samples)
        Whether the model puts them in the target class.
    sigma : float
    old, new : Curve or None
        The log-density of one Gaussian by distance, at its largest and at its smallest; None where nothing shifts.
    """

    samples: FloatArray
    wanted: BoolArray
    sigma: float
    old: "Curve | None"
    new: "Curve | None"

    @classmethod
    def of(
        cls,
        samples: FloatArray,
        wanted: BoolArray,
        dimensions: IntArray,
        farthest: FloatArray,
        sigma: float,
        epsilon_op: float,
        epsilon_pe: float,
    ) -> "Odds":
        """Work out the worst cases once, since they depend on the distance to a sample only."""
        old = Curve.largest(dimensions, farthest, sigma, epsilon_op) if epsilon_op > 0 else None
        new = Curve.smallest(dimensions, farthest, sigma, epsilon_pe) if epsilon_pe > 0 else None
        return cls(samples, wanted, sigma, old, new)

    def take(self, rows: IntArray) -> "Odds":
        """Pick some rows."""
        old, new = (None if curve is None else curve.take(rows) for curve in (self.old, self.new))
        return Odds(self.samples[rows], self.wanted[rows], self.sigma, old, new)

    def value_and_gradient(self, moves: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Give the log-odds, shape (n,), and their gradient, shape (n, d). A class without samples has no say."""
        gap = moves[:, None] - self.samples
        distance = np.sqrt(np.square(gap).sum(axis=2))
        value = np.zeros(len(moves))
        pulls = np.zeros(distance.shape)
        for sign, curve, mine in ((1.0, self.old, ~self.wanted), (-1.0, self.new, self.wanted)):
            if curve is None:
                density, slope = -np.square(distance) / (2 * self.sigma**2), -distance / self.sigma**2
            else:
                density, slope = curve.at(distance)
            some = np.asarray(mine.any(axis=1))
            total = np.where(some, logsumexp(np.where(mine | ~some[:, None], density, -np.inf), axis=1), 0.0)
            shares = np.where(mine, np.exp(density - total[:, None]), 0.0)
            value += sign * total
            pulls += sign * shares * slope
        away = np.divide(pulls, distance, out=np.zeros_like(pulls), where=distance > CLOSE)
        return value, np.asarray((away[..., None] * gap).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Curve:
    """An extreme log-density by the distance to a sample, for each row its own; 0 is that of the sample itself.

    Attributes
    ----------
    values, slopes : array of shape (n, knots)
        The log-density at equal steps of the distance, and its derivative.
    step : array of shape (n,)
    """

    values: FloatArray
    slopes: FloatArray
    step: FloatArray

    @classmethod
    def largest(cls, dimensions: IntArray, farthest: FloatArray, sigma: float, epsilon: float) -> "Curve":
        """Let the mean come closer by `a` and the spread in its direction grow by `b`, with a^2 + b^2 <= epsilon^2."""
        angles = np.linspace(0, np.pi / 2, _ANGLES)
        closer, wider = epsilon * np.cos(angles), sigma + epsilon * np.sin(angles)

        def density(distance: FloatArray, _: int) -> tuple[FloatArray, FloatArray]:
            rest = np.maximum(distance[:, None] - closer, 0)
            values = -np.log(wider / sigma) - np.square(rest / wider) / 2
            return _best(values, -rest / wider**2)

        return cls._of(dimensions, farthest, density)

    @classmethod
    def smallest(cls, dimensions: IntArray, farthest: FloatArray, sigma: float, epsilon: float) -> "Curve":
        """Let the mean withdraw by `a`, the spread in its direction grow by `b` and in all others by `f`.

        In p dimensions, a^2 + b^2 + (p - 1) f^2 <= epsilon^2; as withdrawing always helps, all of it is used.
        """

        def density(distance: FloatArray, p: int) -> tuple[FloatArray, FloatArray]:
            angles = np.linspace(0, np.pi / 2, _ANGLES)
            tilt = angles[:, None] if p > 1 else np.zeros((1, 1))
            away, wider = (epsilon * np.cos(tilt) * side(angles) for side in (np.cos, np.sin))
            across = (p - 1) * np.log1p(epsilon * np.sin(tilt) / np.sqrt(max(p - 1, 1)) / sigma) + 0 * away
            away, wider, across = away.ravel(), sigma + wider.ravel(), across.ravel()
            rest = distance[:, None] + away
            values = np.log(wider / sigma) + np.square(rest / wider) / 2 + across
            least, slope = _best(values, rest / wider**2)
            return -least, -slope

        return cls._of(dimensions, farthest, density)

    @classmethod
    def _of(
        cls,
        dimensions: IntArray,
        farthest: FloatArray,
        density: Callable[[FloatArray, int], tuple[FloatArray, FloatArray]],
    ) -> "Curve":
        knots = np.linspace(0, 1, _KNOTS) * farthest[:, None]
        pairs = [density(row, int(p)) for row, p in zip(knots, dimensions, strict=True)]
        values, slopes = (np.stack(part) for part in zip(*pairs, strict=True))
        return cls(values, slopes, farthest / (_KNOTS - 1))

    def take(self, rows: IntArray) -> "Curve":
        """Pick some rows."""
        return Curve(self.values[rows], self.slopes[rows], self.step[rows])

    def at(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interpolate values and slopes at distances of shape (n, k), by cubics that agree with both at the knots."""
        step = self.step[:, None]
        place = distance / step
        knot = np.clip(place.astype(np.intp), 0, _KNOTS - 2)
        u = place - knot
        left, right = (np.take_along_axis(self.values, knot + side, axis=1) for side in (0, 1))
        rise, fall = (np.take_along_axis(self.slopes, knot + side, axis=1) * step for side in (0, 1))
        second = 3 * (right - left) - 2 * rise - fall
        third = 2 * (left - right) + rise + fall
        value = left + u * (rise + u * (second + u * third))
        return value, (rise + u * (2 * second + 3 * u * third)) / step


def _best(values: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pick the largest value of each row, with its slope."""
    best = values.argmax(axis=1)
    rows = np.arange(len(values))
    return values[rows, best], slopes[rows, best]
