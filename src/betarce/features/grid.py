"""The steps that values of a column are multiples of."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.features.box import Box
from betarce.features.columns import Column

_TINY = 1e-9  # of a step: what rounding may add to a bound


@dataclass(frozen=True, eq=False)
class Steps:
    """Columns whose steps have the same number of decimals.

    Attributes
    ----------
    columns : array of int
    steps : array of float
    decimals : int
    single : array of bool
        Which of them hold float32.
    """

    columns: IntArray
    steps: FloatArray
    decimals: int
    single: BoolArray

    def rounded(self, part: FloatArray) -> FloatArray:
        """Round the values of these columns."""
        values = on_grid(part, self.steps, self.decimals)
        return np.where(self.single, values.astype(np.float32), values) if self.single.any() else values


@dataclass(frozen=True, eq=False)
class Grid:
    """The steps of all columns, in groups, so that a batch is rounded in few operations.

    Attributes
    ----------
    groups : tuple of Steps
        Columns without a step are in none of them.
    singles : array of int
        Columns of float32.
    """

    groups: tuple[Steps, ...]
    singles: IntArray

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "Grid":
        """Sort columns by the decimals of their steps."""
        by_decimals: dict[int, list[int]] = {}
        for j, column in enumerate(columns):
            if column.step is not None:
                by_decimals.setdefault(decimals_of(column.step), []).append(j)
        groups = tuple(
            Steps(
                np.array(places),
                np.array([columns[j].step for j in places], dtype=np.float64),
                decimals,
                np.array([columns[j].single for j in places]),
            )
            for decimals, places in by_decimals.items()
        )
        return cls(groups, np.array([j for j, column in enumerate(columns) if column.single], dtype=np.intp))

    def snap(self, points: FloatArray, box: Box) -> None:
        """Round points within their box, in place; what is as it was stays."""
        for group in self.groups:
            columns = group.columns
            part = points[:, columns]
            rounded = np.clip(group.rounded(part), box.lower[:, columns], box.upper[:, columns])
            points[:, columns] = np.where(part == box.origin[:, columns], part, rounded)
        if self.singles.size:
            points[:, self.singles] = points[:, self.singles].astype(np.float32)

    def off(self, points: FloatArray) -> BoolArray:
        """Say which values are not on the grid, shape (rows, features)."""
        off = np.zeros(points.shape, dtype=bool)
        for group in self.groups:
            part = points[:, group.columns]
            off[:, group.columns] = group.rounded(part) != part
        return off


def on_grid(values: FloatArray, step: float | FloatArray, decimals: int) -> FloatArray:
    """Round to multiples of a step, written with so many decimals.

    Examples
    --------
    >>> on_grid(np.array([0.31, 0.44]), 0.1, 1)
    array([0.3, 0.4])
    """
    # Adding zero turns -0.0 into 0.0, which is what people write.
    return np.asarray(np.round(np.rint(values / step) * step, decimals) + 0.0)


def decimals_of(step: float) -> int:
    """Count the decimals that multiples of a step have.

    Examples
    --------
    >>> decimals_of(0.25), decimals_of(500.0), decimals_of(1e-06)
    (2, 0, 6)
    """
    text = np.format_float_positional(step, trim="-")
    return len(text.partition(".")[2])


def snapped(values: FloatArray, column: Column) -> FloatArray:
    """Round values to the grid of a column."""
    return values if column.step is None else on_grid(values, column.step, decimals_of(column.step))


def inward(bounds: FloatArray, origin: FloatArray, column: Column, *, up: bool) -> FloatArray:
    """Move bounds to values that a column can hold, upwards or downwards; where a value is now always is one."""
    bounds = _on_grid(bounds, origin, column, up=up)
    return _in_float32(bounds, up=up) if column.single and column.step is None else bounds


def _on_grid(bounds: FloatArray, origin: FloatArray, column: Column, *, up: bool) -> FloatArray:
    """Move bounds to the grid, inwards; where a value is now is always on it."""
    if (step := column.step) is None:
        return bounds
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.fmax(np.abs(bounds), np.abs(origin)).astype(np.float32)
        slack = np.spacing(largest) / step if column.single else _TINY
        places = np.ceil(bounds / step - slack) if up else np.floor(bounds / step + slack)
        snapped = np.round(places * step, decimals_of(step)) + 0.0
        if column.single:  # as float32 has it: 0.7 is a little less there, and still on the grid
            snapped = snapped.astype(np.float32).astype(np.float64)
        inward = (
            np.where(bounds <= origin, np.minimum(snapped, origin), snapped)
            if up
            else np.where(bounds >= origin, np.maximum(snapped, origin), snapped)
        )
    return np.where(np.isinf(bounds) | (bounds == origin), bounds, inward)


def _in_float32(bounds: FloatArray, *, up: bool) -> FloatArray:
    """Move bounds to the next float32, inwards."""
    rounded = bounds.astype(np.float32)
    past = rounded < bounds if up else rounded > bounds
    return np.where(past, np.nextafter(rounded, np.float32(np.inf if up else -np.inf)), rounded).astype(np.float64)
