"""Trace columns through scikit-learn's fitted transformers.

For each output column, its input column and the arithmetic between them are read from the transformer. Only exact types
are read: a subclass may do anything. Nothing is run here, so what is read is a claim, which `read_preprocessing`
compares with the transformers' own output.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from betarce.ensemble.preprocessing.scaling import Op
from betarce.ensemble.preprocessing.traced_columns import TracedColumn, TracedTable
from betarce.ensemble.unreadable import Unreadable


def trace(transformer: Any, table: TracedTable) -> TracedTable:
    """Trace columns through a fitted transformer, a pipeline of them, or "passthrough".

    Parameters
    ----------
    transformer : fitted transformer, "passthrough" or None
    table : TracedTable
        The columns before it.

    Returns
    -------
    TracedTable
        The columns behind it.

    Raises
    ------
    Unreadable
        If it is none of the known ones, or mixes columns.

    Examples
    --------
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> scaler = MaxAbsScaler().fit([[4.0], [-2.0]])
    >>> trace(scaler, TracedTable((TracedColumn(source=3, categorical=False),), names=None)).columns[0].ops
    (Op(symbol='/', number=4.0, precision='float64'),)
    """
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return table
    # By name, so that no module is imported to be compared with.
    kind = type(transformer)
    reader = READERS.get(kind.__name__) if kind.__module__.partition(".")[0] == "sklearn" else None
    if reader is None:
        raise Unreadable(f"{kind.__name__} before the estimator")
    expected = getattr(transformer, "n_features_in_", len(table.columns))
    # A column transformer takes its own columns out of a larger table, by name.
    if expected != len(table.columns) and kind.__name__ not in ("ColumnTransformer", "Pipeline"):
        raise Unreadable(f"{kind.__name__} of {expected} columns, given {len(table.columns)}")
    return reader(transformer, table)


def _frozen(transformer: Any, table: TracedTable) -> TracedTable:
    return trace(transformer.estimator, table)


def _pipeline(transformer: Any, table: TracedTable) -> TracedTable:
    for _, inner in transformer.steps:
        table = trace(inner, table)
    return table


def _identity(transformer: Any, table: TracedTable) -> TracedTable:
    if transformer.func is not None:
        raise Unreadable("FunctionTransformer with a function")
    return table


def _scaled(table: TracedTable, ops: Sequence[tuple[str, Any]], *, rounds: bool) -> TracedTable:
    """Add operations with one number per column; `rounds` says whether numbers are rounded to the input's precision."""
    dtype = np.dtype(table.precision)
    columns = list(table.columns)
    for symbol, numbers in ops:
        for j, number in enumerate(np.broadcast_to(numbers, (len(columns),)).tolist()):
            value = float(dtype.type(number)) if rounds else float(number)
            columns[j] = columns[j].then(Op(symbol, value, table.precision))
    return table.transformed(columns)


def _standard(scaler: Any, table: TracedTable) -> TracedTable:
    if table.sparse:
        return _scaled(table, [] if scaler.scale_ is None else [("*", 1 / scaler.scale_)], rounds=False)
    ops = [("-", scaler.mean_)] * bool(scaler.with_mean) + [("/", scaler.scale_)] * bool(scaler.with_std)
    return _scaled(table, ops, rounds=True)


def _min_max(scaler: Any, table: TracedTable) -> TracedTable:
    low, high = scaler.feature_range
    ops = [("*", scaler.scale_), ("+", scaler.min_)] + [("max", low), ("min", high)] * bool(scaler.clip)
    return _scaled(table, ops, rounds=False)


def _max_abs(scaler: Any, table: TracedTable) -> TracedTable:
    ops = [("*", 1 / scaler.scale_)] if table.sparse else [("/", scaler.scale_)]
    return _scaled(table, ops + [("max", -1.0), ("min", 1.0)] * bool(getattr(scaler, "clip", False)), rounds=False)


def _robust(scaler: Any, table: TracedTable) -> TracedTable:
    if table.sparse:
        return _scaled(table, [("*", 1 / scaler.scale_)] * bool(scaler.with_scaling), rounds=False)
    ops = [("-", scaler.center_)] * bool(scaler.with_centering) + [("/", scaler.scale_)] * bool(scaler.with_scaling)
    return _scaled(table, ops, rounds=False)


def _imputer(imputer: Any, table: TracedTable) -> TracedTable:
    # A number that stands for "missing" makes a hole in the middle of a column.
    marker = imputer.missing_values
    numeric = not all(column.categorical for column in table.columns)
    if isinstance(marker, (int, float)) and not np.isnan(marker) and numeric:
        raise Unreadable("SimpleImputer with a number for missing values")
    empty = np.array([value is None or value != value for value in imputer.statistics_])
    keeps_empty = imputer.keep_empty_features
    kept = [column for column, gone in zip(table.columns, empty, strict=True) if keeps_empty or not gone]
    flags = [] if imputer.indicator_ is None else imputer.indicator_.features_
    return table.transformed([*kept, *(table.columns[j].then(Op("set", 0.0)) for j in flags)])


def _one_hot(encoder: Any, table: TracedTable) -> TracedTable:
    _codes_only(table)
    widths = encoder._n_features_outs
    outputs = [column for column, width in zip(table.columns, widths, strict=True) for _ in range(width)]
    return table.transformed(outputs, sparse=bool(encoder.sparse_output))


def _ordinal(_: Any, table: TracedTable) -> TracedTable:
    _codes_only(table)
    return table.transformed(table.columns)


def _target_encoder(encoder: Any, table: TracedTable) -> TracedTable:
    _codes_only(table)
    each = len(encoder.encodings_) // len(table.columns)  # one per class, where there are more than two
    return table.transformed([column for column in table.columns for _ in range(each)])


def _codes_only(table: TracedTable) -> None:
    if not all(column.categorical for column in table.columns):
        raise Unreadable("an encoder of a column of numbers")


def _column_transformer(transformer: Any, table: TracedTable) -> TracedTable:
    if transformer.transformer_weights:
        raise Unreadable("ColumnTransformer with weights")
    by_name = table.names is not None and hasattr(transformer, "feature_names_in_")
    if not by_name and transformer.n_features_in_ != len(table.columns):
        raise Unreadable("ColumnTransformer of other columns")
    outputs: list[TracedColumn] = []
    for name, inner, _ in transformer.transformers_:
        indices = transformer._transformer_to_input_indices[name]
        if (isinstance(inner, str) and inner == "drop") or len(indices) == 0:
            continue
        if by_name and table.names is not None:
            indices = [table.names.index(transformer.feature_names_in_[i]) for i in indices]
        names = None if table.names is None else tuple(table.names[i] for i in indices)
        selected = replace(table, columns=tuple(table.columns[i] for i in indices), names=names)
        outputs.extend(trace(inner, selected).columns)
    return table.transformed(outputs, sparse=bool(transformer.sparse_output_))


READERS: dict[str, Callable[[Any, TracedTable], TracedTable]] = {
    "ColumnTransformer": _column_transformer,
    "FrozenEstimator": _frozen,
    "FunctionTransformer": _identity,
    "MaxAbsScaler": _max_abs,
    "MinMaxScaler": _min_max,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "Pipeline": _pipeline,
    "RobustScaler": _robust,
    "SimpleImputer": _imputer,
    "StandardScaler": _standard,
    "TargetEncoder": _target_encoder,
}
