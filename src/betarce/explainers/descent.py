"""Gradient descent on many rows at once, for all methods that follow gradients.

A move is an array of shape (rows, features) in units of distance, zero where nothing moves. Only numbers that are free
and known move; names and missing values stay as they are.

No row depends on the others of its batch; in networks that compute in float32, up to the rounding of their products.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_whole, is_number, is_one_of
from betarce.errors import InvalidInput
from betarce.explainers.protocol import Problem
from betarce.features import Box

_BLOCK = 8  # batches are filled up to multiples of it: matrix products round the last rows of a batch differently
_FIRST, _SECOND = 0.9, 0.999  # how slowly Adam forgets

NOTHING_MOVES = "No number of this row may move, and names stay as they are here. Loosen `features`."


@dataclass(frozen=True, eq=False)
class Slope:
    """Where each row can slide, and how the model's margin changes on the way.

    Attributes
    ----------
    originals : array of shape (n, d)
    targets : array of bool, shape (n, classes)
    problem : Problem
    box : Box
    scale : array of shape (d,)
        The length of one unit of distance along each column.
    slides : array of bool, shape (n, d)
        Which values move.
    low, high : array of shape (n, d)
        How far, in units of distance.
    """

    originals: FloatArray
    targets: BoolArray
    problem: Problem
    box: Box
    scale: FloatArray
    slides: BoolArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(
        cls,
        originals: FloatArray,
        targets: BoolArray,
        problem: Problem,
        box: Box,
        scale: FloatArray | None = None,
    ) -> "Slope":
        """Read off which values move, and how far; the unit of distance is the training range by default."""
        features = problem.features
        unit = features.scale if scale is None else scale
        slides = box.free & ~features.is_nominal & ~np.isnan(originals)
        low, high = (np.where(slides, (wall - originals) / unit, 0.0) for wall in (box.lower, box.upper))
        return cls(originals, targets, problem, box, unit, slides, low, high)

    def __len__(self) -> int:
        return len(self.originals)

    def take(self, rows: IntArray) -> "Slope":
        """Pick some rows, in any order and number."""
        return Slope(
            self.originals[rows],
            self.targets[rows],
            self.problem,
            self.box.take(rows),
            self.scale,
            self.slides[rows],
            self.low[rows],
            self.high[rows],
        )

    def clip(self, moves: FloatArray) -> FloatArray:
        """Keep moves between the walls."""
        return np.clip(moves, self.low, self.high)

    def raw(self, moves: FloatArray) -> FloatArray:
        """Give the points that moves lead to, before they are rounded."""
        return np.where(self.slides & (moves != 0), self.originals + moves * self.scale, self.originals)

    def points(self, moves: FloatArray) -> FloatArray:
        """Give the allowed points that moves lead to."""
        return self.problem.features.project(self.raw(moves), self.box)

    def moves(self, points: FloatArray) -> FloatArray:
        """Give the moves that lead to points."""
        return np.where(self.slides, (points - self.originals) / self.scale, 0.0)

    def margins(self, points: FloatArray) -> FloatArray:
        """Give the model's margin at one point per row, shape (n,)."""
        padded, targets = _fill_up(points), _fill_up(self.targets)
        return np.asarray(self.problem.model.margins(padded, targets)[: len(points), 0])

    def keeps_rules(self, points: FloatArray) -> BoolArray:
        """Say which points obey all rules: projecting cannot always repair links between columns."""
        if not self.problem.features.linked:
            return np.ones(len(points), dtype=bool)
        return np.asarray(~self.problem.features.violations(points, self.box).any(axis=1))

    def gradient(self, moves: FloatArray, step: float) -> tuple[FloatArray, IntArray]:
        """Give the gradient of the margin by the moves, shape (n, d), and the evaluations that it took, shape (n,).

        Exact where the model has slopes; else central differences over `step` training ranges to either side, or over
        one step of the column's grid where that is wider, between allowed points.
        """
        if not self.problem.model.has_slopes:
            return self._differences(moves, step), 2 * self.slides.sum(axis=1)
        points, targets = _fill_up(self.raw(moves)), _fill_up(self.targets)
        slopes = self.problem.model.slopes(points, targets, np.ones((len(points), 1)))[: len(moves)]
        known = self.slides & np.isfinite(slopes)
        return np.where(known, slopes * self.scale, 0.0), np.ones(len(moves), dtype=np.intp)

    def _differences(self, moves: FloatArray, step: float) -> FloatArray:
        features = self.problem.features
        rows, columns = np.nonzero(self.slides)
        wide = (np.maximum(step * features.scale, features.unit) / self.scale)[columns]
        each = self.take(np.concatenate([rows, rows]))
        moved, pairs = moves[np.concatenate([rows, rows])], np.arange(2 * len(rows))
        moved[pairs, np.concatenate([columns, columns])] += np.concatenate([wide, -wide])
        points = each.points(each.clip(moved))
        margins = each.margins(points).reshape(2, -1)
        places = points[pairs, np.concatenate([columns, columns])].reshape(2, -1)
        gap = (places[0] - places[1]) / self.scale[columns]
        gradient = np.zeros(moves.shape)
        gradient[rows, columns] = np.divide(margins[0] - margins[1], gap, out=np.zeros_like(gap), where=gap > 0)
        return gradient


class Adam:
    """Adam with one pace per row, so that a step keeps the direction of the gradient: units are comparable already.

    Parameters
    ----------
    shape : pair of int
        Rows and features.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self._first = np.zeros(shape)
        self._second = np.zeros((shape[0], 1))
        self._time = np.zeros((shape[0], 1))

    def step(self, gradient: FloatArray, rate: float, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Give the step downhill of some rows, and the pace by which a penalty of the same objective is weighed.

        A step is about `rate` long as long as the gradient stays what it was.
        """
        self._time[rows] += 1
        self._first[rows] = _FIRST * self._first[rows] + (1 - _FIRST) * gradient
        squared = np.square(gradient).sum(axis=1, keepdims=True)
        self._second[rows] = _SECOND * self._second[rows] + (1 - _SECOND) * squared
        length = np.sqrt(self._second[rows] / (1 - _SECOND ** self._time[rows]))
        pace = np.divide(rate, length, out=np.zeros_like(length), where=length > 0)
        return -pace * self._first[rows] / (1 - _FIRST ** self._time[rows]), pace


def shrink(moves: FloatArray, threshold: FloatArray, norm: str) -> FloatArray:
    """Shorten moves by a penalty on their length: the proximal step of the L1 or the L2 norm.

    `threshold` broadcasts to the moves; for L2 it has one column.

    Examples
    --------
    >>> shrink(np.array([[3.0, -4.0]]), np.array([[1.0]]), "l1")
    array([[ 2., -3.]])
    >>> shrink(np.array([[3.0, -4.0]]), np.array([[1.0]]), "l2")
    array([[ 2.4, -3.2]])
    """
    if norm == "l1":
        return np.asarray(np.sign(moves) * np.maximum(np.abs(moves) - threshold, 0))
    length = np.sqrt(np.square(moves).sum(axis=1, keepdims=True))
    kept = np.maximum(length - threshold, 0)
    return np.asarray(moves * np.divide(kept, length, out=np.zeros_like(length), where=length > 0))


def _fill_up(rows: AnyArray) -> AnyArray:
    missing = -len(rows) % _BLOCK
    return np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)])


def check_numbers(method: object, rule: str, names: Iterable[str], holds: Callable[[float], bool]) -> None:
    """Refuse parameters of a method that break a rule."""
    for name in names:
        value = getattr(method, name)
        if not is_number(value) or not holds(value):
            raise InvalidInput(f"`{name}` must be {rule}; got {value!r}.")


def check_counts(method: object, names: Iterable[str], *, least: int = 1) -> None:
    """Refuse parameters that are no whole numbers, or too small."""
    for name in names:
        check_whole(name, getattr(method, name), least=least)


def check_choice(method: object, name: str, choices: Iterable[object]) -> None:
    """Refuse a parameter that is none of the choices."""
    known = list(choices)
    if not is_one_of(getattr(method, name), known):
        raise InvalidInput(f"`{name}` must be one of {', '.join(map(repr, known))}; got {getattr(method, name)!r}.")
