"""The arithmetic of scalers on one number, rounding included."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from betarce.arrays import FloatArray, IntArray

_LARGEST = float(np.finfo(np.float64).max)


class Op(NamedTuple):
    """One operation: `x <symbol> number`, rounded to a precision.

    Symbols are the four operators, "max" and "min" for clipping, and "set" for a constant. An operation is computed in
    float64 and then rounded, which for these operators is the same as computing in the lower precision.
    """

    symbol: str
    number: float
    precision: str = "float64"


Ops = tuple[Op, ...]


def apply(ops: Ops, x: FloatArray) -> FloatArray:
    """Apply operations to values, one after the other.

    Examples
    --------
    >>> apply((Op("-", 1.0), Op("/", 3.0, "float32")), np.array([2.0, 4.0]))
    array([0.33333334, 1.        ])
    """
    return _run([(op.symbol, op.precision) for op in ops], [np.asarray(op.number) for op in ops], x)


def affine(ops: Ops) -> tuple[float, float] | None:
    """Write operations as `x * scale + shift`, up to rounding; None if they clip.

    Examples
    --------
    >>> affine((Op("-", 1.0), Op("/", 2.0)))
    (0.5, -0.5)
    """
    scale, shift = 1.0, 0.0
    for symbol, number, _ in ops:
        match symbol:
            case "+":
                shift += number
            case "-":
                shift -= number
            case "*":
                scale, shift = scale * number, shift * number
            case "/":
                scale, shift = scale / number, shift / number
            case "set":
                scale, shift = 0.0, number
            case _:
                return None
    return scale, shift


def largest_at_most(ops: Sequence[Ops], limits: FloatArray) -> FloatArray:
    """Find, for each chain of operations, the largest float64 whose result is at most a limit; -inf if there is none.

    A chain never decreases, rounding included. So its result is at most the limit exactly up to this number, which is
    found by bisection over all floats.

    Examples
    --------
    >>> cut = largest_at_most([(Op("-", 0.1), Op("/", 3.0))], np.array([0.5]))[0]
    >>> [bool((x - 0.1) / 3.0 <= 0.5) for x in (cut, np.nextafter(cut, 9))]
    [True, False]
    """
    found = np.empty(len(limits))
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for i, chain in enumerate(ops):
        groups.setdefault(tuple((op.symbol, op.precision) for op in chain), []).append(i)
    for signature, rows in groups.items():
        numbers = np.array([[op.number for op in ops[i]] for i in rows]).reshape(len(rows), -1).T
        found[rows] = _bisect(signature, list(numbers), limits[rows])
    return found


def _run(signature: Sequence[tuple[str, str]], numbers: Sequence[FloatArray], x: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for (symbol, precision), number in zip(signature, numbers, strict=True):
            match symbol:
                case "+":
                    x = x + number
                case "-":
                    x = x - number
                case "*":
                    x = x * number
                case "/":
                    x = x / number
                case "max":
                    x = np.maximum(x, number)
                case "min":
                    x = np.minimum(x, number)
                case "set":
                    x = np.where(np.isnan(x), np.nan, number)
            if precision != "float64":
                x = x.astype(precision).astype(np.float64)
    return x


def _bisect(signature: Sequence[tuple[str, str]], numbers: list[FloatArray], limits: FloatArray) -> FloatArray:
    if not signature:
        return np.clip(limits, -np.inf, _LARGEST)
    low, high = (np.broadcast_to(_rank(np.array([end])), limits.shape) for end in (-_LARGEST, _LARGEST))
    for _ in range(65):
        # The mean rounded up, without the overflow of their sum.
        middle = (low | high) - ((low ^ high) >> 1)
        fits = _run(signature, numbers, _float(middle)) <= limits
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    found = _float(low)
    nowhere = ~(_run(signature, numbers, found) <= limits)
    return np.where(nowhere, -np.inf, found)


def _rank(x: FloatArray) -> IntArray:
    """Number the floats in ascending order, so that neighbours differ by one."""
    bits = x.view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


def _float(rank: IntArray) -> FloatArray:
    return np.asarray((rank ^ ((rank >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64))
