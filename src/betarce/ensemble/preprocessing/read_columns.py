"""Read fitted transformers into a `Preprocessing`.

What is read from the attributes of a transformer is only a claim about what it does. So the transformers are run once
on a few probe points, and the claim must give their output to the bit.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.foreign import catboost, lightgbm, xgboost
from betarce.ensemble.foreign.sklearn_transformers import trace
from betarce.ensemble.foreign.sklearn_trees import encodes_columns, inner_encoder
from betarce.ensemble.preprocessing.columns import OutputColumn, Preprocessing
from betarce.ensemble.preprocessing.probe_points import ProbePoints
from betarce.ensemble.preprocessing.traced_columns import TracedColumn, TracedTable
from betarce.ensemble.unreadable import Unreadable

# What transformers raise for a level or a missing value that they were not made for.
_REFUSALS = (TypeError, ValueError, KeyError, AttributeError)


def read_preprocessing(transformers: Sequence[Any], estimator: Any, probes: ProbePoints) -> Preprocessing:
    """Read fitted transformers, and compare what was read with their own output on the probe points.

    Parameters
    ----------
    transformers : sequence of fitted transformers
    estimator : estimator
        The estimator behind them; some libraries encode categories themselves.
    probes : ProbePoints

    Returns
    -------
    Preprocessing

    Raises
    ------
    Unreadable
        If a transformer is unknown, mixes columns or refuses a level.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> scaler = MinMaxScaler().fit([[0.0], [4.0]])
    >>> read_preprocessing([scaler], None, ProbePoints.numeric(1, np.asarray, None)).transform(np.array([[3.0]]))
    array([[0.75]])
    """
    expected, with_missing = _expected(transformers, estimator, probes)
    # Some transformers keep to the precision of their input, others do not: what they did tells.
    for precision in dict.fromkeys(["float64", probes.precision]):
        traced = _traced(transformers, estimator, probes, precision)
        found = _complete(traced, expected, probes) if len(traced.columns) == expected.shape[1] else None
        if found is not None:
            return _read_missing(found, transformers, estimator, probes, with_missing)
    raise Unreadable("what the transformers do is not what was read")


def _expected(transformers: Sequence[Any], estimator: Any, probes: ProbePoints) -> tuple[FloatArray, FloatArray | None]:
    """Transform the probe points, and those with missing values too if one call can do both."""
    n = len(probes.points)
    if probes.table_with_missing is not None:
        try:
            both = _run(transformers, estimator, probes.table_with_missing, probes)
        except _REFUSALS:
            pass
        else:
            return both[:n], both[n:]
    try:
        return _run(transformers, estimator, probes.table, probes), None
    except _REFUSALS as refusal:
        raise Unreadable(f"what stands before it refuses a level ({type(refusal).__name__}: {refusal})") from refusal


def _traced(transformers: Sequence[Any], estimator: Any, probes: ProbePoints, precision: str) -> TracedTable:
    columns = tuple(TracedColumn(reading.source, reading.levels is not None) for reading in probes.readings)
    traced = TracedTable(columns, tuple(reading.name for reading in probes.readings), precision=precision)
    for transformer in transformers:
        traced = trace(transformer, traced)
    if inner_encoder(estimator) is not None:
        # The encoder inside HistGradientBoosting puts encoded categories first, then numbers as they are.
        encoded = encodes_columns(estimator)
        order = np.argsort(~encoded, kind="stable")
        if not all(traced.columns[j].categorical for j in order[: int(encoded.sum())]):
            raise Unreadable("categories in a column of numbers")
        traced = traced.transformed([traced.columns[j] for j in order])
    return traced


def _run(transformers: Sequence[Any], estimator: Any, table: Any, probes: ProbePoints) -> FloatArray:
    """Send a table through the transformers, and give the numbers that the estimator gets."""
    with warnings.catch_warnings():
        # The members' own answers have said it already.
        warnings.simplefilter("ignore")
        for transformer in transformers:
            if transformer is not None and not isinstance(transformer, str):
                table = transformer.transform(table)
        if (encoder := inner_encoder(estimator)) is not None:
            table = encoder.transform(table)
        return _numbers(estimator, table, probes)


def _numbers(estimator: Any, table: Any, probes: ProbePoints) -> FloatArray:
    if hasattr(table, "toarray"):
        return np.asarray(table.toarray(), dtype=np.float64)
    table = _encode_categories(estimator, table, probes)
    if hasattr(table, "to_numpy"):
        kwargs = {"dtype": np.float64, "na_value": np.nan} if hasattr(table, "iloc") else {}
        table = table.to_numpy(**kwargs)
    return np.asarray(table, dtype=np.float64)


def _encode_categories(estimator: Any, table: Any, probes: ProbePoints) -> Any:
    """Encode categorical columns as the estimator does, if it takes them as they are."""
    library = type(estimator).__module__.partition(".")[0]
    if library == "catboost":
        return catboost.encode_categories(estimator, table, probes)
    categorical = np.flatnonzero([str(dtype) == "category" for dtype in getattr(table, "dtypes", [])])
    if len(categorical) and library in ("lightgbm", "xgboost"):
        encode = lightgbm.encode_categories if library == "lightgbm" else xgboost.encode_categories
        return encode(estimator, table, categorical)
    return table


def _complete(traced: TracedTable, expected: FloatArray, probes: ProbePoints) -> Preprocessing | None:
    """Add the outputs of categorical columns; None if the result does not give the expected output."""
    outputs = []
    for j, column in enumerate(traced.columns):
        lookup = None
        if column.categorical:
            k = probes.n_levels[column.source]
            lookup = np.append(expected[:k, j], np.nan)
        outputs.append(OutputColumn(column.source, lookup, column.ops))
    used = {column.source for column in traced.columns}
    found = Preprocessing(tuple(outputs), frozenset(used), traced.sparse, traced.precision)
    return found if np.array_equal(found.transform(probes.points), expected, equal_nan=True) else None


def _read_missing(
    found: Preprocessing,
    transformers: Sequence[Any],
    estimator: Any,
    probes: ProbePoints,
    with_missing: FloatArray | None,
) -> Preprocessing:
    """Add the outputs for missing values, wherever the transformers do not refuse them."""
    for place, (missing, points, table) in enumerate(probes.missing_tables):
        columns = found.refuses_missing & set(np.flatnonzero(missing).tolist())
        if not columns:
            continue
        first = with_missing is not None and place == 0
        try:
            expected = with_missing if first else _run(transformers, estimator, table, probes)
        except _REFUSALS:
            continue
        assert expected is not None
        outputs = tuple(
            _missing_as(output, expected[0, j]) if output.source in columns else output
            for j, output in enumerate(found.outputs)
        )
        known = Preprocessing(outputs, found.refuses_missing - columns, found.sparse, found.precision)
        if np.array_equal(known.transform(points), expected, equal_nan=True):
            found = known
    return found


def _missing_as(output: OutputColumn, value: float) -> OutputColumn:
    lookup = None if output.lookup is None else np.append(output.lookup[:-1], value)
    return OutputColumn(output.source, lookup, output.ops, float(value))
