"""Records of a reproduction, checked and ready to be counted."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from betarce.errors import InvalidInput
from betarce.paper.records import CELL

SPACES = ("architecture", "bootstrap", "seed")
_TEXTS = ("data", "family", "space", "method", "base", "status", "reason")
_SCORES = ("robustness", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base", "ms")
_VOTES = ("n_models", "lower_bound", "upper_bound")
_NUMBERS = ("delta", "confidence", *_SCORES, *_VOTES)
_LINE = (*CELL, "method", "base", "delta", "confidence", "row")
_OTHERS = ("fold", "row", "found", "members")


def check_records(records: pd.DataFrame) -> pd.DataFrame:
    """Check that a frame holds records; "base" and "reason" become "" and numbers NaN where there are none.

    The new column "point" numbers the rows explained: it is the same for the same row of a data set in any cell.

    Raises
    ------
    InvalidInput
        If there is no record, a column is missing, or the same method answers the same row twice under the same name:
        means would mix what differs.
    """
    if records.empty:
        raise InvalidInput(
            "`records` must hold at least one record; got none. No cell of the plan is finished yet: run it first, for "
            "instance with `betarce reproduce smoke --out results`."
        )
    missing = [name for name in (*_TEXTS, *_NUMBERS, *_OTHERS) if name not in records]
    if missing:
        raise InvalidInput(f"`records` must have the columns of a reproduction; it lacks {', '.join(missing)}.")
    texts = {name: records[name].astype(object).where(records[name].notna(), "") for name in _TEXTS}
    under = [name for name in (f"robustness_{space}" for space in SPACES) if name in records]
    numbers = {name: records[name].astype(float) for name in (*_NUMBERS, *under)}
    twice = records[records.assign(**texts).duplicated(list(_LINE))]
    if len(twice):
        line = ", ".join(f"{name} {value}" for name, value in twice.iloc[0][list(_LINE)].items() if value == value)
        raise InvalidInput(
            f"{len(twice)} records are there twice, the first: {line}. Give methods that differ different names."
        )
    point = records.groupby(["data", "fold", "row"], sort=False).ngroup()
    return records.assign(**texts, **numbers, found=records["found"].astype(bool), point=point)


def at_guarantee(records: pd.DataFrame, *, deltas: Sequence[float], confidence: float) -> "pd.Series[bool]":
    """Say which records are of one of these deltas, and of this confidence."""
    near = np.isclose(records["delta"].to_numpy()[:, None], np.asarray(deltas, float)[None, :]).any(axis=1)
    return pd.Series(near & np.isclose(records["confidence"], confidence), index=records.index)


def mean_and_error(values: "pd.Series[float]", points: "pd.Series[int]") -> tuple[float, float, int]:
    """Give the mean of what is not missing, its standard error over points, and how many values there are.

    Values of the same point (in the comparison: the same row, explained in the cells of several spaces) are no separate
    evidence. Their deviations are summed before they are squared; if every point has one value, this is the usual
    standard error. It is NaN for a single point.

    Examples
    --------
    >>> mean_and_error(pd.Series([1.0, 3.0, None]), pd.Series([0, 1, 2]))
    (2.0, 1.0, 2)
    >>> mean_and_error(pd.Series([1.0, 1.0, 3.0, 3.0]), pd.Series([0, 0, 1, 1]))
    (2.0, 1.0, 4)
    """
    all_values = values.to_numpy(float)
    known = ~np.isnan(all_values)
    if not known.any():
        return np.nan, np.nan, 0
    numbers = all_values[known]
    mean = float(numbers.mean())
    _, codes = np.unique(points.to_numpy()[known], return_inverse=True)
    sums = np.bincount(codes, numbers - mean)
    n = len(sums)
    error = float(np.sqrt((sums**2).sum() * n / (n - 1)) / len(numbers)) if n > 1 else np.nan
    return mean, error, len(numbers)
