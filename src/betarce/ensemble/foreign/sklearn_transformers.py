"""What scikit-learn's fitted transformers do to columns: which output comes from which input, by which arithmetic.

Only exact types are read: a subclass may do anything. Nothing is run here, so what is read is a claim; `read_front`
holds it against the transformers' own output.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from betarce.ensemble.preprocessing.column_sources import Trace, Traced
from betarce.ensemble.preprocessing.scaling import Op
from betarce.ensemble.unreadable import Unreadable


def trace(step: Any, given: Traced) -> Traced:
    """Follow columns through a fitted transformer, a pipeline of them, or "passthrough".

    Raises
    ------
    Unreadable
        If it is none of the known ones, or mixes columns.

    Examples
    --------
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> scaler = MaxAbsScaler().fit([[4.0], [-2.0]])
    >>> trace(scaler, Traced((Trace(source=3, coded=False),), names=None)).columns[0].ops
    (Op(symbol='/', number=4.0, precision='float64'),)
    """
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return given
    # By name, so that no module is imported to be compared with.
    kind = type(step)
    reader = READERS.get(kind.__name__) if kind.__module__.partition(".")[0] == "sklearn" else None
    if reader is None:
        raise Unreadable(f"{kind.__name__} before the estimator")
    expected = getattr(step, "n_features_in_", len(given.columns))
    # A column transformer takes its own columns out of a larger table, by name.
    if expected != len(given.columns) and kind.__name__ not in ("ColumnTransformer", "Pipeline"):
        raise Unreadable(f"{kind.__name__} of {expected} columns, given {len(given.columns)}")
    return reader(step, given)


def _frozen(step: Any, given: Traced) -> Traced:
    return trace(step.estimator, given)


def _pipeline(step: Any, given: Traced) -> Traced:
    for _, inner in step.steps:
        given = trace(inner, given)
    return given


def _identity(step: Any, given: Traced) -> Traced:
    if step.func is not None:
        raise Unreadable("FunctionTransformer with a function")
    return given


def _scaled(given: Traced, ops: Sequence[tuple[str, Any]], *, rounds: bool) -> Traced:
    """Add steps with one number a column; `rounds` says whether the numbers are brought to the input's precision."""
    dtype = np.dtype(given.precision)
    columns = list(given.columns)
    for symbol, numbers in ops:
        for j, number in enumerate(np.broadcast_to(numbers, (len(columns),)).tolist()):
            value = float(dtype.type(number)) if rounds else float(number)
            columns[j] = columns[j].then(Op(symbol, value, given.precision))
    return given.made(columns)


def _standard(step: Any, given: Traced) -> Traced:
    if given.sparse:
        return _scaled(given, [] if step.scale_ is None else [("*", 1 / step.scale_)], rounds=False)
    ops = [("-", step.mean_)] * bool(step.with_mean) + [("/", step.scale_)] * bool(step.with_std)
    return _scaled(given, ops, rounds=True)


def _min_max(step: Any, given: Traced) -> Traced:
    low, high = step.feature_range
    ops = [("*", step.scale_), ("+", step.min_)] + [("max", low), ("min", high)] * bool(step.clip)
    return _scaled(given, ops, rounds=False)


def _max_abs(step: Any, given: Traced) -> Traced:
    ops = [("*", 1 / step.scale_)] if given.sparse else [("/", step.scale_)]
    return _scaled(given, ops + [("max", -1.0), ("min", 1.0)] * bool(getattr(step, "clip", False)), rounds=False)


def _robust(step: Any, given: Traced) -> Traced:
    if given.sparse:
        return _scaled(given, [("*", 1 / step.scale_)] * bool(step.with_scaling), rounds=False)
    ops = [("-", step.center_)] * bool(step.with_centering) + [("/", step.scale_)] * bool(step.with_scaling)
    return _scaled(given, ops, rounds=False)


def _imputer(step: Any, given: Traced) -> Traced:
    # A number that stands for "missing" makes a hole in the middle of a column.
    marker = step.missing_values
    if isinstance(marker, (int, float)) and not np.isnan(marker) and not all(t.coded for t in given.columns):
        raise Unreadable("SimpleImputer with a number for missing values")
    empty = np.array([value is None or value != value for value in step.statistics_])
    kept = [t for t, gone in zip(given.columns, empty, strict=True) if step.keep_empty_features or not gone]
    flags = [] if step.indicator_ is None else step.indicator_.features_
    return given.made([*kept, *(given.columns[j].then(Op("set", 0.0)) for j in flags)])


def _one_hot(step: Any, given: Traced) -> Traced:
    _codes_only(given)
    widths = step._n_features_outs
    outputs = [t for t, width in zip(given.columns, widths, strict=True) for _ in range(width)]
    return given.made(outputs, sparse=bool(step.sparse_output))


def _ordinal(_: Any, given: Traced) -> Traced:
    _codes_only(given)
    return given.made(given.columns)


def _target_encoder(step: Any, given: Traced) -> Traced:
    _codes_only(given)
    each = len(step.encodings_) // len(given.columns)  # one a class, where there are more than two
    return given.made([t for t in given.columns for _ in range(each)])


def _codes_only(given: Traced) -> None:
    if not all(t.coded for t in given.columns):
        raise Unreadable("an encoder of a column of numbers")


def _column_transformer(step: Any, given: Traced) -> Traced:
    if step.transformer_weights:
        raise Unreadable("ColumnTransformer with weights")
    by_name = given.names is not None and hasattr(step, "feature_names_in_")
    if not by_name and step.n_features_in_ != len(given.columns):
        raise Unreadable("ColumnTransformer of other columns")
    outputs: list[Trace] = []
    for name, inner, _ in step.transformers_:
        indices = step._transformer_to_input_indices[name]
        if (isinstance(inner, str) and inner == "drop") or len(indices) == 0:
            continue
        if by_name and given.names is not None:
            indices = [given.names.index(step.feature_names_in_[i]) for i in indices]
        names = None if given.names is None else tuple(given.names[i] for i in indices)
        taken = replace(given, columns=tuple(given.columns[i] for i in indices), names=names)
        outputs.extend(trace(inner, taken).columns)
    return given.made(outputs, sparse=bool(step.sparse_output_))


READERS: dict[str, Callable[[Any, Traced], Traced]] = {
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
