"""Probabilities, decision values or labels of a part, computed from the scores of its kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.decision_threshold import score_per_decision
from betarce.ensemble.intervals import UNIT, Interval, shares, sigmoid, softmax
from betarce.ensemble.kernel import Kernel, ProbabilityKernel, evaluated, gives_probabilities
from betarce.ensemble.trees.forest_arrays import SINGLE
from betarce.ensemble.unreadable import Unreadable

# Boosted trees and networks: scores are log-odds or logits, and probabilities are computed from them.
_LOGITS = (
    "CatBoostClassifier",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
    "LGBMClassifier",
    "MLPClassifier",
    "Network",
    "XGBClassifier",
)
_DECISIONS = (
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
    "LGBMClassifier",
    "LinearSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Network",
    "RidgeClassifier",
    "SGDClassifier",
    "StackingClassifier",
)
_IN_FLOAT32 = ("Network", "XGBClassifier")


@dataclass(frozen=True, eq=False)
class Response:
    """How answers are computed from the scores of a kernel.

    Attributes
    ----------
    kind : {"probabilities", "odds", "shares", "scores", "labels"}
        "probabilities": those that the kernel gives itself. "odds": a sigmoid or softmax of its scores. "shares":
        sigmoids divided by their sum. "scores": the scores times a scale. "labels": labels as numbers.
    unit : float
        The relative rounding error of an answer of the model itself.
    scale : float
    labels : array of float
        The number that stands for each class.
    """

    kind: str
    unit: float = UNIT
    scale: float = 1.0
    labels: FloatArray | None = None

    def ask(self, kernel: Kernel, X: FloatArray, members: slice) -> Interval:
        """Give the answers: shape (n, m, 1) for two classes and for labels, else (n, m, classes)."""
        if self.kind == "probabilities":
            # No `isinstance` of a protocol: it is slow, and asked all the time.
            return cast(ProbabilityKernel, kernel).probabilities(X, members).widened(self.unit)
        scores, doubt = evaluated(kernel, X, members)
        if self.kind == "labels":
            return self._labels(scores, np.asarray(doubt))
        scores = scores[..., np.newaxis] if scores.ndim == 2 else scores
        doubt = np.broadcast_to(doubt, scores.shape[:2])[..., np.newaxis]
        given = Interval(scores - doubt, scores + doubt)
        match self.kind:
            case "odds":
                return sigmoid(given, self.unit) if scores.shape[-1] == 1 else softmax(given, self.unit)
            case "shares":
                return shares(sigmoid(given, 0.0), self.unit)
        return Interval(self.scale * given.low, self.scale * given.high)

    def _labels(self, scores: FloatArray, doubt: FloatArray) -> Interval:
        """Give labels as numbers; NaN where rounding may have changed one."""
        assert self.labels is not None
        if scores.ndim == 2:
            codes, gap = (scores > 0).astype(np.intp), np.abs(scores)
        else:
            codes, best = scores.argmax(axis=2), np.partition(scores, -2, axis=2)
            gap, doubt = best[..., -1] - best[..., -2], 2 * doubt
        labels = self.labels.take(codes)
        labels[~(gap > doubt)] = np.nan
        return Interval(labels[..., np.newaxis], labels[..., np.newaxis])

    def gradient(self, answer: FloatArray) -> FloatArray | float:
        """Give the gradient of the answers of two classes in the scores."""
        return answer * (1 - answer) if self.kind == "odds" else self.scale

    @property
    def is_smooth(self) -> bool:
        """Whether `gradient` is known for two classes."""
        return self.kind in ("odds", "scores")


def response_of(kernel: Kernel, estimators: Sequence[Any], method: str, labels: FloatArray) -> Response:
    """Find how the answers of a method are computed from the scores of a kernel.

    Parameters
    ----------
    kernel : Kernel
    estimators : sequence of estimators
        All of one type.
    method : {"predict_proba", "decision_function", "predict"}
    labels : array of float
        The number that stands for each class.

    Returns
    -------
    Response

    Raises
    ------
    Unreadable
        If the scores do not determine them.
    """
    name = type(estimators[0]).__name__
    unit = 4 * SINGLE if name in _IN_FLOAT32 else UNIT
    if method == "predict":
        return Response("labels", labels=labels)
    if method == "predict_proba":
        if gives_probabilities(kernel):
            return Response("probabilities")
        kinds = {probability_kind(estimator) for estimator in estimators}
        if len(kinds) > 1:
            raise Unreadable(f"{name} with different ways to probabilities")
        return Response(kinds.pop(), unit)
    if name not in _DECISIONS:
        raise Unreadable(f"`{method}` of {name}")
    scales = {1 / score_per_decision(estimator) for estimator in estimators}
    if len(scales) > 1:
        raise Unreadable(f"{name} with different scales")
    return Response("scores", unit, scales.pop())


def probability_kind(estimator: Any) -> str:
    """Say how an estimator computes probabilities from its scores: "odds" or "shares".

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> probability_kind(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    'odds'
    """
    name, many = type(estimator).__name__, len(estimator.classes_) > 2
    if name in _LOGITS:
        return "odds"
    if name == "SGDClassifier" and estimator.loss == "log_loss":
        return "shares" if many else "odds"
    if name in ("LogisticRegression", "LogisticRegressionCV"):
        # Before scikit-learn 1.8: one model per class, or twice the decision function as log-odds of two.
        setting = getattr(estimator, "multi_class", "auto")
        if setting == "ovr" or estimator.solver == "liblinear":
            return "shares" if many else "odds"
        if many or setting != "multinomial":
            return "odds"
    raise Unreadable(f"`predict_proba` of {name}")
