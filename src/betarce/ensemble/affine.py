"""Scalers in front of a model, read as one multiplication and one addition a feature."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.thresholds import Threshold, read_threshold


@dataclass(frozen=True, eq=False)
class Peeled:
    """A fitted model without its wrappings.

    Attributes
    ----------
    core : object
        The estimator that decides.
    scale, shift : array of float, shape (features,), or None
        Its input is `x * scale + shift`; None where it sees the point as it is.
    threshold : Threshold or None
        Where its label turns, if not at even odds.
    """

    core: Any
    scale: FloatArray | None = None
    shift: FloatArray | None = None
    threshold: Threshold | None = None

    @property
    def turn(self) -> float | None:
        """The score at which the label turns; None if a kernel cannot say."""
        return 0.0 if self.threshold is None else self.threshold.offset(self.core)


def peel(model: object) -> Peeled:
    """Take off what does not decide: frozen wrappers, validation splits, scalers of a pipeline.

    A pipeline with a step that is no plain scaler stays whole, as its own core.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit([[0.0], [4.0]], [0, 1])
    >>> peel(model)
    Peeled(core=LogisticRegression(), scale=array([0.25]), shift=array([0.]), threshold=None)
    """
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    from betarce.models.validation import ValidationSplit

    if isinstance(model, FrozenEstimator):
        return peel(model.estimator)
    if isinstance(model, ValidationSplit):
        return peel(model.estimator_)
    if (turned := read_threshold(model)) is not None:
        # An inner threshold does not count: the outer one is set on the response, not on the label.
        return replace(peel(turned[0]), threshold=turned[1])
    if not isinstance(model, Pipeline):
        return Peeled(model)
    scale: FloatArray | None = None
    shift: FloatArray | None = None
    for _, step in model.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        affine = _affine(step)
        if affine is None:
            return Peeled(model, threshold=peel(model.steps[-1][1]).threshold)
        scale, shift = affine if scale is None or shift is None else (scale * affine[0], shift * affine[0] + affine[1])
    inner = peel(model.steps[-1][1])
    if inner.scale is not None:
        return Peeled(model, threshold=inner.threshold)
    return Peeled(inner.core, scale, shift, inner.threshold)


def _affine(step: Any) -> tuple[FloatArray, FloatArray] | None:
    """Read a fitted scaler as (scale, shift), or say that it is something else."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    d = getattr(step, "n_features_in_", 0)
    ones, zeros = np.ones(d), np.zeros(d)
    # Exact types only: a subclass may do anything. Getting a scaler's rounding slightly wrong is fine, since
    # close calls go to the model itself.
    if type(step) is MinMaxScaler and not step.clip:
        return step.scale_, step.min_
    if type(step) is StandardScaler:
        scale = ones if step.scale_ is None else 1 / step.scale_
        return scale, zeros if step.mean_ is None or not step.with_mean else -step.mean_ * scale
    if type(step) is MaxAbsScaler and not getattr(step, "clip", False):
        return 1 / step.scale_, zeros
    if type(step) is RobustScaler:
        scale = 1 / step.scale_ if step.with_scaling else ones
        return scale, -step.center_ * scale if step.with_centering else zeros
    return None
