"""Points spread out so that what any member's front makes of them is one matrix product.

A number keeps its column, a missing one is replaced and flagged; a code becomes a column for each level, and one for
missing. The spread is the same for all members, however their encoders differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.ensemble.preprocessing.columns import Front
from betarce.ensemble.preprocessing.scaling import affine

_SIZES = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


@dataclass(frozen=True, eq=False)
class Design:
    """Columns: numbers, flags of missing numbers, and then the levels of each code.

    Attributes
    ----------
    numbers : array of int
        Columns of the point that hold numbers.
    center : array of float
        A typical value of each, near which members' scalers give zero.
    flagged : array of bool
        For which of them a missing value is known to every member; for others the point is left to the members.
    codes : array of int
        Columns of the point that hold codes.
    starts : array of int, one more than codes
        Where the levels of each begin.
    known : array of bool, shape (width,)
        Which columns are known to every member: a level may be refused, and so may a missing one.
    """

    numbers: IntArray
    center: FloatArray
    flagged: BoolArray
    codes: IntArray
    starts: IntArray
    known: BoolArray

    @property
    def width(self) -> int:
        """How many columns there are."""
        return int(self.starts[-1])

    def expand(self, points: FloatArray) -> FloatArray:
        """Spread points out, shape (n, width); NaN where a member may refuse."""
        n, n_numbers = len(points), len(self.numbers)
        spread = np.zeros((n, self.width))
        numbers = points[:, self.numbers]
        gone = np.isnan(numbers)
        if gone.any():
            spread[:, n_numbers : self.starts[0]] = gone[:, self.flagged]
            numbers = np.where(gone & self.flagged, self.center, numbers)
        spread[:, :n_numbers] = numbers
        codes = points[:, self.codes]
        gone = np.isnan(codes)
        last = np.diff(self.starts) - 1
        # Of two equal flat indices in a row there is none: each code has its own columns.
        at = self.starts[:-1] + np.where(gone, last, codes).astype(np.intp)
        np.put_along_axis(spread, at, np.where(self.known[at], 1.0, np.nan), axis=1)
        return spread

    def slopes(self, spread: FloatArray, points: FloatArray) -> FloatArray:
        """Bring gradients on the spread back to the points: zero for codes and for what is missing."""
        slopes = np.zeros(points.shape)
        slopes[:, self.numbers] = spread[:, : len(self.numbers)]
        slopes[np.isnan(points)] = 0
        return slopes


@dataclass(frozen=True, eq=False)
class Fold:
    """One member's front on a design: its outputs are `spread @ matrix + shift`, up to rounding.

    `slack` is the norm of the outputs of each number at its center, and `offset` that of their shifts.
    """

    matrix: Any  # sparse, (width, outputs)
    shift: FloatArray
    slack: FloatArray
    offset: FloatArray
    unit: float


def fold(fronts: Sequence[Front | None], width: int) -> tuple[Design, list[Fold]] | None:
    """Lay out a design for all members, and fold each front on it; None if a front clips its numbers.

    Parameters
    ----------
    fronts : sequence of Front or None
        None for a member that sees the point as it is.
    width : int
        The number of columns of such a point.
    """
    known = [Front.plain(width) if front is None else front for front in fronts]
    outputs = [output for front in known for output in front.outputs]
    lines = [[affine(output.ops) for output in front.outputs] for front in known]
    if any(line is None for each in lines for line in each):
        return None
    centers: dict[int, float] = {}
    for output in outputs:
        scale, shift = affine(output.ops) or (1.0, 0.0)
        if output.table is None and scale and output.source not in centers:
            centers[output.source] = -shift / scale
    numbers = sorted({output.source for output in outputs if output.table is None})
    codes = {output.source: len(output.table) for output in outputs if output.table is not None}
    refused = {source for front in known for source in front.refused}
    refused |= {output.source for output in outputs if output.table is None and np.isnan(output.missing)}
    flagged = np.array([source not in refused for source in numbers], dtype=bool)
    order = sorted(codes)
    starts = np.cumsum([len(numbers) + int(flagged.sum())] + [codes[source] for source in order])
    at = dict(zip(order, starts.tolist(), strict=False))
    sure = np.ones(int(starts[-1]), dtype=bool)
    for output in outputs:
        if output.table is not None:
            span = slice(at[output.source], at[output.source] + len(output.table))
            sure[span] &= ~np.isnan(output.table)
            sure[span.stop - 1] &= output.source not in refused
    design = Design(
        numbers=np.array(numbers, dtype=np.intp),
        center=np.array([centers.get(source, 0.0) for source in numbers]),
        flagged=flagged,
        codes=np.array(order, dtype=np.intp),
        starts=starts,
        known=sure,
    )
    return design, [_fold(front, design) for front in known]


def _fold(front: Front, design: Design) -> Fold:
    place = {int(source): i for i, source in enumerate(design.numbers)}
    flag = dict(zip(np.flatnonzero(design.flagged).tolist(), range(len(place), int(design.starts[0])), strict=True))
    start = dict(zip(design.codes.tolist(), design.starts.tolist(), strict=False))
    rows: list[IntArray] = []
    columns: list[IntArray] = []
    values: list[FloatArray] = []
    shift = np.zeros(len(front.outputs))
    slack, offset = np.zeros((2, len(place)))
    for j, output in enumerate(front.outputs):
        if output.table is not None:
            at = np.flatnonzero(np.nan_to_num(output.table))
            rows.append(start[output.source] + at)
            values.append(output.table[at])
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
    shape = (design.width, len(front.outputs))
    matrix = sparse.csr_array((joined[0], (joined[1].astype(np.intp), joined[2].astype(np.intp))), shape=shape)
    return Fold(matrix, shift, np.sqrt(slack), np.sqrt(offset), _SIZES[front.precision])
