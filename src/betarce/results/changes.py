"""Format what a row has to change, for people."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from betarce.arrays import FloatArray
from betarce.features import Column
from betarce.features.grid import decimals_of

if TYPE_CHECKING:
    from betarce.results.counterfactual import RobustCounterfactual

_EXACT = 2.0**53
_DIGITS = (5, 7, 10, 13)
_SEPARATORS = "_=.:- "


@dataclass(frozen=True, eq=False)
class Change:
    """One feature in which the robust point differs from the original or from the base.

    Attributes
    ----------
    column : Column
        The feature.
    values : array of shape (3,)
        Original, base and robust, as a point holds them.
    texts : tuple of str
        The same, in original units, to be read.
    size : float
        How far the robust value is from the original one, in ranges.
    """

    column: Column
    values: FloatArray
    texts: tuple[str, ...]
    size: float

    @property
    def title(self) -> str:
        """What people call the feature."""
        return self.column.title


def changed(item: "RobustCounterfactual") -> list[Change]:
    """List the features that differ, in the order of the table; none without a certified point."""
    original, base, robust = (item.points[which] for which in ("original", "base", "robust"))
    if original is None or base is None or robust is None:
        return []
    features = item.features
    sizes = steps(features.columns, original, robust)
    moved = features.differs(original, robust) | features.differs(base, robust)
    triples = np.stack([original, base, robust], axis=1)
    return [
        Change(features.columns[j], triples[j], written(features.columns[j], triples[j]), float(sizes[j]))
        for j in np.flatnonzero(moved)
    ]


def largest(changes: Sequence[Change], most: int) -> list[Change]:
    """Keep the largest changes only, in the order of the table."""
    kept = sorted(range(len(changes)), key=lambda i: -changes[i].size)[:most]
    return [changes[i] for i in sorted(kept)]


def steps(columns: Sequence[Column], before: FloatArray, after: FloatArray) -> FloatArray:
    """Give the length of the way along each column: numbers in ranges, names and missing values 0 or 1."""
    gap = np.abs(after - before) / np.array([column.scale for column in columns])
    whole = np.isnan(gap) | np.array([column.is_nominal for column in columns])
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    return np.asarray(np.where(whole, ~same, gap), dtype=float)


def row_title(name: object) -> str:
    """Call a row by its name, or by its number."""
    return name if isinstance(name, str) else f"row {name}"


def written(column: Column, values: Sequence[float] | FloatArray) -> tuple[str, ...]:
    """Write values of one column side by side, with as many digits as it takes to tell them apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from betarce.features import FeatureSpace
    >>> table = pd.DataFrame({"debt": [0, 90_000], "rate": [0.123456789, 7], "home": ["rent", "own"]})
    >>> debt, rate, home = FeatureSpace.infer(table).columns
    >>> written(debt, [12_000, 9_500])
    ('12,000', '9,500')
    >>> written(rate, [0.123456789, 2.5]), written(rate, [0.123456789, 0.123456780])
    (('0.12346', '2.5'), ('0.123456789', '0.12345678'))
    >>> written(home, [1, 0, float("nan")])
    ('rent', 'own', 'missing')
    """
    if column.levels is not None:
        return tuple("missing" if math.isnan(value) else _level(column, int(value)) for value in values)
    numbers = [float(value) + 0.0 for value in values]  # no minus zero
    known = [value for value in numbers if not math.isnan(value)]
    decimals = 0 if column.step is None else decimals_of(column.step)
    for places in sorted({0, decimals}):
        if all(abs(value) < _EXACT and round(value, places) == value for value in known):
            return tuple("missing" if math.isnan(value) else f"{value:,.{places}f}" for value in numbers)
    texts: tuple[str, ...] = ()
    for digits in _DIGITS:
        texts = tuple("missing" if math.isnan(value) else _number(value, digits) for value in numbers)
        if len(set(texts)) == len(set(known)) + (len(known) < len(numbers)):
            return texts
    return tuple(repr(value) if value == value else "missing" for value in numbers)


def roughly(column: Column, value: float) -> str:
    """Write a value with the digits that show its size."""
    whole = value == round(value)
    return written(column, [value])[0] if column.levels is not None or whole else _number(value, 3)


def exactly(column: Column, value: float) -> str:
    """Write a value with all its digits."""
    return column.show(value) if column.levels is not None else str(np.float32(value) if column.single else value)


def _number(value: float, digits: int) -> str:
    if value != 0 and not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    before = math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:,.{max(0, digits - 1 - before)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _level(column: Column, code: int) -> str:
    assert column.levels is not None
    level = column.levels[code]
    if len(column.raw) == 1:
        return str(level)
    if level is None:
        return "none of them"
    # The columns of a one-hot group share their stem with its title: housing_own is "own".
    text, stem = str(level), column.title
    rest = text.removeprefix(stem)
    return rest.lstrip(_SEPARATORS) or text if rest != text and rest[:1] in _SEPARATORS else text
