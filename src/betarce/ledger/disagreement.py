"""Where an old and a new model disagree most: which rows, and in which part of which feature."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.features import FeatureSpace
from betarce.features.columns import Column

_BINS = 5
_MOST = 5
_LEAST_ROWS = 5


@dataclass(frozen=True)
class Region:
    """A part of one feature in which models disagree more often than elsewhere.

    Attributes
    ----------
    feature : str
    where : str
        The part, such as "18 to 25" or "rent".
    share : float
        Of the rows in it, those on which they disagree.
    elsewhere : float
        The same of all other rows.
    n_rows : int
        Rows in it.

    Examples
    --------
    >>> region = Region("age", "18 to 25", share=0.2, elsewhere=0.03, n_rows=50)
    >>> region.share > region.elsewhere
    True
    """

    feature: str
    where: str
    share: float
    elsewhere: float
    n_rows: int

    def __str__(self) -> str:
        return f"{self.feature} {self.where}: {self.share:.0%} of {self.n_rows:,} rows, {self.elsewhere:.0%} elsewhere"


@dataclass(frozen=True)
class Disagreement:
    """Where an old and a new model disagree.

    Attributes
    ----------
    of : str
        What was compared: "training rows", or "promises" where there are no more than their outcomes.
    n_rows : int
    share : float
        Of these, those on which they disagree.
    regions : tuple of Region
        One for each of the features that tell most, the most telling first.
    rows : tuple of str
        The promises whose chance of their class has fallen most, in words.

    Examples
    --------
    >>> region = Region("age", "18 to 25", share=0.2, elsewhere=0.03, n_rows=50)
    >>> found = Disagreement("training rows", n_rows=700, share=0.04, regions=(region,))
    >>> found.regions[0].where
    '18 to 25'
    """

    of: str
    n_rows: int
    share: float
    regions: tuple[Region, ...] = ()
    rows: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"The models disagree on {self.share:.1%} of {self.n_rows:,} {self.of}"

    def to_plain(self) -> dict[str, Any]:
        """Give everything as strict JSON has it."""
        return {
            "of": self.of,
            "n_rows": self.n_rows,
            "share": self.share,
            "features": [
                {
                    "feature": each.feature,
                    "where": each.where,
                    "share": each.share,
                    "elsewhere": each.elsewhere,
                    "rows": each.n_rows,
                }
                for each in self.regions
            ],
            "rows": list(self.rows),
        }


def regions_of(points: FloatArray, differs: BoolArray, features: FeatureSpace) -> tuple[Region, ...]:
    """Find the parts of features in which most of a disagreement lies.

    Numbers are cut into fifths; of each feature the part is given whose share differs most from that elsewhere, in
    units of its standard error.

    Parameters
    ----------
    points : array of shape (n, d)
    differs : array of bool, shape (n,)
    features : FeatureSpace

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": np.arange(100), "income": np.arange(100) * 37 % 100})
    >>> features = FeatureSpace.infer(X)
    >>> [first, *_] = regions_of(features.encode(X), np.arange(100) < 18, features)
    >>> print(first)
    age 0 to 19: 90% of 20 rows, 0% elsewhere
    """
    if not differs.any() or differs.all():
        return ()
    found = []
    for j, column in enumerate(features.columns):
        parts = [(_lift(differs, inside), where, inside) for where, inside in _parts(points[:, j], column)]
        if parts and (best := max(parts, key=lambda part: part[0]))[0] > 0:
            _, where, inside = best
            shares = (float(differs[inside].mean()), float(differs[~inside].mean()))
            found.append((best[0], Region(column.title, where, *shares, int(inside.sum()))))
    ordered = sorted(found, key=lambda each: -each[0])
    return tuple(region for _, region in ordered[:_MOST])


def rows_of(names: Sequence[object], before: FloatArray, after: FloatArray) -> tuple[str, ...]:
    """Name the promises whose chance of their class has fallen most, with both chances."""
    fall = before - after
    order = [i for i in np.argsort(-fall, kind="stable")[:_MOST].tolist() if fall[i] > 0]
    return tuple(f"{names[i]}: {before[i]:.0%} before, {after[i]:.0%} now" for i in order)


def chances(model: Any, table: Any, wanted: BoolArray) -> FloatArray:
    """Give the probability of the wanted classes at each row; 0 or 1 for a model that gives labels only.

    Parameters
    ----------
    model : classifier
    table : table of n rows
    wanted : array of bool, shape (n, classes of the model)
    """
    if hasattr(model, "predict_proba"):
        return np.asarray((np.asarray(model.predict_proba(table)) * wanted).sum(axis=1))
    labels = np.asarray(model.predict(table))[:, None] == np.asarray(model.classes_)[None]
    return np.asarray((labels & wanted).any(axis=1), dtype=np.float64)


def _parts(values: FloatArray, column: Column) -> Iterator[tuple[str, BoolArray]]:
    known = ~np.isnan(values)
    if not known.all():
        yield "missing", ~known
    if column.levels is not None:
        for code in np.unique(values[known]):
            yield str(column.show(float(code))), values == code
        return
    edges = np.unique(np.quantile(values[known], np.linspace(0, 1, _BINS + 1))) if known.any() else np.array([])
    for k, (low, high) in enumerate(pairwise(edges)):
        inside = (values >= low) & (values <= high if k == len(edges) - 2 else values < high)
        if inside.any():
            ends = [str(column.show(float(end))) for end in (values[inside].min(), values[inside].max())]
            yield " to ".join(dict.fromkeys(ends)), inside


def _lift(differs: BoolArray, inside: BoolArray) -> float:
    """Give how far the share inside is above that elsewhere, in standard errors."""
    n, others = int(inside.sum()), int((~inside).sum())
    if n < _LEAST_ROWS or others < _LEAST_ROWS:
        return 0.0
    rate = float(differs.mean())
    error = float(np.sqrt(rate * (1 - rate) * (1 / n + 1 / others)))
    return float(differs[inside].mean() - differs[~inside].mean()) / error
