"""Take fitted models apart: pipelines, threshold and parameter-search wrappers, models made of models."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from betarce.ensemble.composites.combination import Combination
from betarce.ensemble.composites.stacking import FinalEstimator, read_final_estimator
from betarce.ensemble.decision_threshold import DecisionThreshold
from betarce.ensemble.foreign.sklearn_trees import inner_encoder
from betarce.ensemble.foreign.sklearn_wrappers import (
    Composite,
    inner_model,
    pipeline_steps,
    read_composite,
    read_threshold,
)
from betarce.ensemble.preprocessing.columns import Preprocessing
from betarce.ensemble.preprocessing.probe_points import ProbePoints
from betarce.ensemble.preprocessing.read_columns import read_preprocessing
from betarce.ensemble.preprocessing.unwrapped import UnwrappedModel
from betarce.ensemble.unreadable import Unreadable, reading
from betarce.models.validation import ValidationSplit

__all__ = ["UnwrappedModel", "strip_wrappers", "unwrap"]


def strip_wrappers(model: Any) -> tuple[Any, list[Any], DecisionThreshold | None]:
    """Strip frozen wrappers, parameter searches, validation splits, decision thresholds and pipelines.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    estimator : estimator
        The estimator that decides.
    transformers : list of fitted transformers
        All preprocessing, in order.
    threshold : DecisionThreshold or None

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> strip_wrappers(make_pipeline(MinMaxScaler(), LogisticRegression()).fit([[0.0], [4.0]], [0, 1]))
    (LogisticRegression(), [MinMaxScaler()], None)
    """
    # Exact types only: a subclass may predict in its own way.
    if type(model) is ValidationSplit:
        return strip_wrappers(model.estimator_)
    if (inner := inner_model(model)) is not None:
        return strip_wrappers(inner)
    if (found := read_threshold(model)) is not None:
        estimator, transformers, _ = strip_wrappers(found[0])
        # An inner threshold does not count: the outer one is set on the response, not on the label.
        return estimator, transformers, found[1]
    if (steps := pipeline_steps(model)) is not None:
        estimator, transformers, threshold = strip_wrappers(steps[-1])
        return estimator, steps[:-1] + transformers, threshold
    return model, [], None


def unwrap(model: object, probes: ProbePoints) -> UnwrappedModel:
    """Take a model apart; what cannot be read is said in `UnwrappedModel.reason`.

    Parameters
    ----------
    model : fitted model
    probes : ProbePoints
        Points on which the preprocessing is checked.

    Returns
    -------
    UnwrappedModel

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> probes = ProbePoints.numeric(1, np.asarray, None)
    >>> model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit([[0.0], [4.0]], [0, 1])
    >>> unwrap(model, probes).preprocessing.transform(np.array([[3.0]]))
    array([[0.75]])
    """
    estimator: Any = model
    threshold: DecisionThreshold | None = None
    try:
        with reading(model):
            estimator, transformers, threshold = strip_wrappers(model)
        with reading(estimator):
            return _unwrap(estimator, transformers, threshold, probes)
    except Unreadable as reason:
        return UnwrappedModel(estimator, threshold=threshold, reason=str(reason))


def _unwrap(
    estimator: Any, transformers: list[Any], threshold: DecisionThreshold | None, probes: ProbePoints
) -> UnwrappedModel:
    composite = read_composite(estimator)
    if composite is not None:
        return _unwrap_composite(estimator, composite, transformers, threshold, probes)
    if not hasattr(estimator, "classes_"):
        return UnwrappedModel(estimator, threshold=threshold)
    return UnwrappedModel(estimator, _preprocessing(estimator, transformers, probes), threshold, probes=probes)


def _preprocessing(estimator: Any, transformers: Sequence[Any], probes: ProbePoints) -> Preprocessing | None:
    # HistGradientBoosting encodes its categories itself, and puts them before the numbers.
    if probes.is_plain and not transformers and inner_encoder(estimator) is None:
        return None
    return read_preprocessing(transformers, estimator, probes)


def _unwrap_composite(
    estimator: Any,
    composite: Composite,
    transformers: list[Any],
    threshold: DecisionThreshold | None,
    probes: ProbePoints,
) -> UnwrappedModel:
    """Take the parts of a model apart; the preprocessing of the whole stands before each of them."""
    parts = []
    for part in composite.parts:
        inner, more, part_threshold = strip_wrappers(part)
        with reading(inner):
            parts.append(_unwrap(inner, transformers + more, part_threshold, probes))
    combination: Combination = composite.combination or _final_estimator(estimator, composite, transformers, probes)
    return UnwrappedModel(
        estimator,
        None,
        threshold,
        parts=tuple(parts),
        methods=tuple(composite.methods),
        combination=combination,
        probes=probes,
    )


def _final_estimator(
    stacking: Any, composite: Composite, transformers: list[Any], probes: ProbePoints
) -> FinalEstimator:
    """Read the final estimator of a stacking classifier, which gets the answers of the parts."""
    final, between, threshold = strip_wrappers(composite.final)
    if threshold is not None:
        raise Unreadable(f"{type(stacking).__name__} whose final estimator has a threshold")
    columns: Preprocessing | None = None
    if composite.passthrough:
        columns = _preprocessing(stacking, transformers, probes) or Preprocessing.identity(probes.width)
    n_classes = len(stacking.classes_)
    n_answers = sum(1 if n_classes == 2 or method == "predict" else n_classes for method in composite.methods)
    before: Preprocessing | None = None
    if between:
        n_inputs = n_answers + (0 if columns is None else len(columns.outputs))
        before = read_preprocessing(between, final, ProbePoints.numeric(n_inputs, np.asarray, None))
    return read_final_estimator(final, n_answers, before, columns)
