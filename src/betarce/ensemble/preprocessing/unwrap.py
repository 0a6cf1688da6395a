"""A fitted model taken apart: what decides, what stands before it, where its label turns, and what it is made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from betarce.ensemble.composites.combining import Rule
from betarce.ensemble.composites.stacking import FinalEstimator, final_estimator
from betarce.ensemble.foreign.sklearn_trees import encoder_of
from betarce.ensemble.foreign.sklearn_wrappers import (
    Composite,
    inner_model,
    pipeline_steps,
    read_composite,
    read_threshold,
)
from betarce.ensemble.preprocessing.columns import Front, read_front
from betarce.ensemble.preprocessing.probe_points import Witness
from betarce.ensemble.preprocessing.thresholds import Threshold
from betarce.ensemble.preprocessing.unwrapped import Peeled
from betarce.ensemble.unreadable import Unreadable, reading

__all__ = ["Peeled", "peel", "unwrap"]


def unwrap(model: Any) -> tuple[Any, list[Any], Threshold | None]:
    """Take off frozen wrappers, searches over parameters, validation splits, thresholds and pipelines.

    Returns
    -------
    core : estimator
    steps : list of fitted transformers
    threshold : Threshold or None

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> unwrap(make_pipeline(MinMaxScaler(), LogisticRegression()).fit([[0.0], [4.0]], [0, 1]))
    (LogisticRegression(), [MinMaxScaler()], None)
    """
    from betarce.models.validation import ValidationSplit

    # Exact types only: a subclass may predict in its own way.
    if type(model) is ValidationSplit:
        return unwrap(model.estimator_)
    if (inner := inner_model(model)) is not None:
        return unwrap(inner)
    if (turned := read_threshold(model)) is not None:
        core, steps, _ = unwrap(turned[0])
        # An inner threshold does not count: the outer one is set on the response, not on the label.
        return core, steps, turned[1]
    if (steps_of := pipeline_steps(model)) is not None:
        core, steps, threshold = unwrap(steps_of[-1])
        return core, steps_of[:-1] + steps, threshold
    return model, [], None


def peel(model: object, witness: Witness) -> Peeled:
    """Take a model apart.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> witness = Witness.of_numbers(1, np.asarray, None)
    >>> model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit([[0.0], [4.0]], [0, 1])
    >>> peel(model, witness).front.transform(np.array([[3.0]]))
    array([[0.75]])
    """
    core: Any = model
    threshold: Threshold | None = None
    try:
        with reading(model):
            core, steps, threshold = unwrap(model)
        with reading(core):
            return _peel(core, steps, threshold, witness)
    except Unreadable as reason:
        return Peeled(core, threshold=threshold, why=str(reason))


def _peel(core: Any, steps: list[Any], threshold: Threshold | None, witness: Witness) -> Peeled:
    composite = read_composite(core)
    if composite is not None:
        return _composite(core, composite, steps, threshold, witness)
    if not hasattr(core, "classes_"):
        return Peeled(core, threshold=threshold)
    return Peeled(core, _front(core, steps, witness), threshold, witness=witness)


def _front(core: Any, steps: Sequence[Any], witness: Witness) -> Front | None:
    # HistGradientBoosting encodes its categories itself, and sorts its columns by it.
    if witness.is_plain and not steps and encoder_of(core) is None:
        return None
    return read_front(steps, core, witness)


def _composite(
    core: Any, composite: Composite, steps: list[Any], threshold: Threshold | None, witness: Witness
) -> Peeled:
    """Take the parts of a model apart; they see what stands before the whole, too."""
    parts = []
    for part in composite.parts:
        inner, more, turned = unwrap(part)
        with reading(inner):
            parts.append(_peel(inner, steps + more, turned, witness))
    rule: Rule = composite.rule or _final(core, composite, steps, witness)
    return Peeled(
        core, None, threshold, parts=tuple(parts), methods=tuple(composite.methods), rule=rule, witness=witness
    )


def _final(core: Any, composite: Composite, steps: list[Any], witness: Witness) -> FinalEstimator:
    """Read the estimator that sees the answers of a stacking classifier's parts."""
    final, between, threshold = unwrap(composite.final)
    if threshold is not None:
        raise Unreadable(f"{type(core).__name__} whose final estimator has a threshold")
    columns: Front | None = None
    if composite.passthrough:
        columns = _front(core, steps, witness) or Front.plain(witness.width)
    n_classes = len(core.classes_)
    n_answers = sum(1 if n_classes == 2 or method == "predict" else n_classes for method in composite.methods)
    before: Front | None = None
    if between:
        n_inputs = n_answers + (0 if columns is None else len(columns.outputs))
        before = read_front(between, final, Witness.of_numbers(n_inputs, np.asarray, None))
    return final_estimator(final, n_answers, before, columns)
