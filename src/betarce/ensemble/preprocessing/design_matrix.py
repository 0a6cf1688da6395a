"""A design matrix on which the preprocessing of every member is one matrix product.

A numeric column of the points stays one column, with a missing value replaced and flagged in a second column. A
categorical column becomes one column per level, and one more for missing values. The layout is the same for all
members, however their encoders differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.ensemble.preprocessing.columns import OutputColumn, Preprocessing
from betarce.ensemble.preprocessing.scaling import affine

_UNITS = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a design matrix: numbers, flags of missing numbers, then the levels of each category.

    Attributes
    ----------
    numbers : array of int
        Numeric columns of the point.
    center : array of float
        A typical value of each, near which the scalers of the members give zero.
    flagged : array of bool
        Numeric columns whose missing values are known to every member. For others, the point is left to the members.
    codes : array of int
        Categorical columns of the point.
    starts : array of int, one more than codes
        The first design column of each categorical column.
    known : array of bool, shape (width,)
        Design columns that every member answers for: some may refuse a level, or a missing value.
    """

    numbers: IntArray
    center: FloatArray
    flagged: BoolArray
    codes: IntArray
    starts: IntArray
    known: BoolArray

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.starts[-1])

    def matrix(self, points: FloatArray) -> FloatArray:
        """Give the design matrix of points, shape (n, width); NaN where a member may refuse to answer."""
        n, n_numbers = len(points), len(self.numbers)
        matrix = np.zeros((n, self.width))
        numbers = points[:, self.numbers]
        missing = np.isnan(numbers)
        if missing.any():
            matrix[:, n_numbers : self.starts[0]] = missing[:, self.flagged]
            numbers = np.where(missing & self.flagged, self.center, numbers)
        matrix[:, :n_numbers] = numbers
        codes = points[:, self.codes]
        missing = np.isnan(codes)
        last = np.diff(self.starts) - 1
        # Of two equal flat indices in a row there is none: each code has its own columns.
        at = self.starts[:-1] + np.where(missing, last, codes).astype(np.intp)
        np.put_along_axis(matrix, at, np.where(self.known[at], 1.0, np.nan), axis=1)
        return matrix

    def slopes(self, gradients: FloatArray, points: FloatArray) -> FloatArray:
        """Turn gradients in the design columns into gradients in the points: zero for codes and missing values."""
        slopes = np.zeros(points.shape)
        slopes[:, self.numbers] = gradients[:, : len(self.numbers)]
        slopes[np.isnan(points)] = 0
        return slopes


@dataclass(frozen=True, eq=False)
class FoldedPreprocessing:
    """The preprocessing of one member as a product: its outputs are `design @ matrix + shift`, up to rounding.

    Attributes
    ----------
    matrix : sparse matrix, shape (width, outputs)
    shift : array of float, shape (outputs,)
    slack : array of float, shape (numbers,)
        For each numeric column, the norm of its outputs at the center.
    offset : array of float, shape (numbers,)
        For each numeric column, the norm of the shifts of its outputs.
    unit : float
        The relative rounding error of one operation.
    """

    matrix: Any
    shift: FloatArray
    slack: FloatArray
    offset: FloatArray
    unit: float


def fold(members: Sequence[Preprocessing | None], width: int) -> tuple[Design, list[FoldedPreprocessing]] | None:
    """Lay out a design matrix for all members, and write the preprocessing of each as a product with it.

    Parameters
    ----------
    members : sequence of Preprocessing or None
        None for a member that gets the point as it is.
    width : int
        The number of columns of such a point.

    Returns
    -------
    design : Design
    folded : list of FoldedPreprocessing
        None instead of both if a scaler clips its numbers.

    Examples
    --------
    >>> from betarce.ensemble.preprocessing.scaling import Op
    >>> scaled = Preprocessing((OutputColumn(0, ops=(Op("-", 1.0), Op("/", 2.0))),))
    >>> design, (folded,) = fold([scaled], width=1)
    >>> design.matrix(np.array([[5.0]])) @ folded.matrix + folded.shift
    array([[2.]])
    """
    known = [Preprocessing.identity(width) if each is None else each for each in members]
    outputs = [output for each in known for output in each.outputs]
    if any(affine(output.ops) is None for output in outputs):
        return None
    design = _lay_out(outputs, {source for each in known for source in each.refuses_missing})
    return design, [_fold(each, design) for each in known]


def _lay_out(outputs: Sequence[OutputColumn], refuses_missing: set[int]) -> Design:
    numbers = sorted({output.source for output in outputs if output.lookup is None})
    sizes = {output.source: len(output.lookup) for output in outputs if output.lookup is not None}
    refused = refuses_missing | {o.source for o in outputs if o.lookup is None and np.isnan(o.missing)}
    flagged = np.array([source not in refused for source in numbers], dtype=bool)
    codes = sorted(sizes)
    starts = np.cumsum([len(numbers) + int(flagged.sum())] + [sizes[source] for source in codes])
    centers = _centers(outputs)
    return Design(
        numbers=np.array(numbers, dtype=np.intp),
        center=np.array([centers.get(source, 0.0) for source in numbers]),
        flagged=flagged,
        codes=np.array(codes, dtype=np.intp),
        starts=starts,
        known=_known(outputs, refused, dict(zip(codes, starts.tolist(), strict=False)), int(starts[-1])),
    )


def _centers(outputs: Sequence[OutputColumn]) -> dict[int, float]:
    """Find, for each numeric column, the number that the first of its scalers takes to zero."""
    centers: dict[int, float] = {}
    for output in outputs:
        scale, shift = affine(output.ops) or (1.0, 0.0)
        if output.lookup is None and scale and output.source not in centers:
            centers[output.source] = -shift / scale
    return centers


def _known(outputs: Sequence[OutputColumn], refused: set[int], start: dict[int, int], width: int) -> BoolArray:
    known = np.ones(width, dtype=bool)
    for output in outputs:
        if output.lookup is not None:
            span = slice(start[output.source], start[output.source] + len(output.lookup))
            known[span] &= ~np.isnan(output.lookup)
            known[span.stop - 1] &= output.source not in refused
    return known


def _fold(preprocessing: Preprocessing, design: Design) -> FoldedPreprocessing:
    place = {int(source): i for i, source in enumerate(design.numbers)}
    flag = dict(zip(np.flatnonzero(design.flagged).tolist(), range(len(place), int(design.starts[0])), strict=True))
    start = dict(zip(design.codes.tolist(), design.starts.tolist(), strict=False))
    rows: list[IntArray] = []
    columns: list[IntArray] = []
    values: list[FloatArray] = []
    shift = np.zeros(len(preprocessing.outputs))
    slack, offset = np.zeros((2, len(place)))
    for j, output in enumerate(preprocessing.outputs):
        if output.lookup is not None:
            at = np.flatnonzero(np.nan_to_num(output.lookup))
            rows.append(start[output.source] + at)
            values.append(output.lookup[at])
        else:
            line = affine(output.ops)
            assert line is not None
            i = place[output.source]
            shift[j] = line[1]
            typical = line[0] * design.center[i] + line[1]
            slack[i] += typical**2
            offset[i] += line[1] ** 2
            flags = [flag[i]] if i in flag else []
            rows.append(np.array([i, *flags]))
            values.append(np.array([line[0], *([output.missing - typical] * len(flags))]))
        columns.append(np.full(len(rows[-1]), j))
    joined = [np.concatenate(part) if part else np.empty(0) for part in (values, rows, columns)]
    shape = (design.width, len(preprocessing.outputs))
    matrix = sparse.csr_array((joined[0], (joined[1].astype(np.intp), joined[2].astype(np.intp))), shape=shape)
    return FoldedPreprocessing(matrix, shift, np.sqrt(slack), np.sqrt(offset), _UNITS[preprocessing.precision])
