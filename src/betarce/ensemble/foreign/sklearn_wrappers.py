"""Read what is inside scikit-learn's wrappers, pipelines and models made of other models."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.ensemble.composites.calibration import Calibration
from betarce.ensemble.composites.isotonic import IsotonicCurve
from betarce.ensemble.composites.voting import Voting
from betarce.ensemble.decision_threshold import DecisionThreshold
from betarce.ensemble.unreadable import Unreadable

_SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")


def inner_model(model: Any) -> Any | None:
    """Give the model inside a frozen estimator or a parameter search; None for anything else.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> inner_model(GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2).fit(X, y))
    LogisticRegression()
    """
    match _name(model):
        case "FrozenEstimator":
            return model.estimator
        case name if name in _SEARCHES:
            return model.best_estimator_
    return None


def pipeline_steps(model: Any) -> list[Any] | None:
    """Give the steps of a pipeline, the estimator last; None for anything else, and for an empty one."""
    if _name(model) != "Pipeline" or not model.steps:
        return None
    return [step for _, step in model.steps]


def read_threshold(model: Any) -> tuple[Any, DecisionThreshold] | None:
    """Give the model and the threshold of a threshold classifier; None for anything else.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import FixedThresholdClassifier
    >>> model = FixedThresholdClassifier(LogisticRegression(), threshold=0.2).fit([[0.0], [1.0]], [0, 1])
    >>> read_threshold(model)
    (LogisticRegression(), DecisionThreshold(response='predict_proba', level=0.2, positive=1))
    """
    if _name(model) == "FixedThresholdClassifier":
        inner = getattr(model, "estimator_", model.estimator)
        level, label = model.threshold, model.pos_label
    elif _name(model) == "TunedThresholdClassifierCV":
        inner = model.estimator_
        level, label = model.best_threshold_, model._curve_scorer._get_pos_label()
    else:
        return None
    methods = ["predict_proba", "decision_function"] if model.response_method == "auto" else [model.response_method]
    response = next((method for method in methods if hasattr(inner, method)), None)
    if response is None or len(inner.classes_) != 2:
        return None
    if isinstance(level, str):
        level = 0.5 if response == "predict_proba" else 0.0
    positive = 1 if label is None or inner.classes_[1] == label else 0
    return inner, DecisionThreshold(response, float(level), positive)


@dataclass(frozen=True, eq=False)
class Composite:
    """A model made of others.

    Attributes
    ----------
    parts : list of fitted estimators
    methods : list of str
        The method that is called on each part.
    combination : Calibration, Voting or None
        How the answers are combined; None if `final` does.
    final : estimator or None
        The estimator that gets the answers as its columns.
    passthrough : bool
        Whether it also gets the columns of the parts.
    """

    parts: list[Any]
    methods: list[str]
    combination: Calibration | Voting | None = None
    final: Any | None = None
    passthrough: bool = False


def read_composite(model: Any) -> Composite | None:
    """Give the parts of a calibrated, voting or stacking classifier; None for anything else.

    Raises
    ------
    Unreadable
        If it combines its parts in a way that is not known.
    """
    match _name(model):
        case "CalibratedClassifierCV":
            return _calibrated(model)
        case "VotingClassifier":
            return _voting(model)
        case "StackingClassifier":
            return _stacking(model)
    return None


def _calibrated(model: Any) -> Composite:
    folds = model.calibrated_classifiers_
    parts = [fold.estimator for fold in folds]
    methods = ["decision_function" if hasattr(part, "decision_function") else "predict_proba" for part in parts]
    if len(set(methods)) > 1 or len({fold.method for fold in folds}) > 1:
        raise Unreadable("CalibratedClassifierCV with folds of different kinds")
    curves = [fold.calibrators for fold in folds]
    n_classes, method = len(model.classes_), folds[0].method
    of_probability = methods[0] == "predict_proba"
    empty = np.zeros((len(folds), 1, 2))
    match method:
        case "sigmoid":
            numbers = np.array([[(curve.a_, curve.b_) for curve in fold] for fold in curves], dtype=np.float64)
            combination = Calibration(method, numbers)
        case "isotonic":
            isotonic = tuple(
                tuple(IsotonicCurve(curve.X_thresholds_, curve.y_thresholds_) for curve in fold) for fold in curves
            )
            combination = Calibration(method, empty, isotonic)
        case "temperature" if n_classes == 2:
            numbers = np.array([[(curve.beta_, 0.0) for curve in fold] for fold in curves], dtype=np.float64)
            combination = Calibration(method, numbers, of_probability=of_probability)
        case _:
            raise Unreadable(f"CalibratedClassifierCV with the method {method!r} and {n_classes} classes")
    return Composite(parts, methods, combination)


def _voting(model: Any) -> Composite:
    weights = np.ones(len(model.estimators_))
    if model.weights is not None:
        used = [weight for (_, part), weight in zip(model.estimators, model.weights, strict=True) if part != "drop"]
        weights = np.array(used, dtype=np.float64)
    soft = model.voting == "soft"
    methods = ["predict_proba" if soft else "predict"] * len(weights)
    return Composite(list(model.estimators_), methods, Voting(soft, weights, len(model.classes_)))


def _stacking(model: Any) -> Composite:
    parts, methods = list(model.estimators_), list(model.stack_method_)
    if len(parts) != len(methods):
        raise Unreadable("StackingClassifier with a method missing")
    return Composite(parts, methods, final=model.final_estimator_, passthrough=bool(model.passthrough))


def _name(model: Any) -> str:
    """Give the name of a type of scikit-learn; exact types only, as a subclass may predict in its own way."""
    kind = type(model)
    return kind.__name__ if kind.__module__.partition(".")[0] == "sklearn" else ""
