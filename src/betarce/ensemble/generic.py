"""Evaluate members of any kind one by one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.decision_threshold import DecisionThreshold
from betarce.ensemble.kernel import Kind
from betarce.errors import UnusableModel

_LEAST = 1e-9  # probabilities this close to 0 or 1 say no more than "sure"


def label_codes(model: object, table: Any, classes: AnyArray) -> IntArray:
    """Give the labels that a model predicts, as positions in `classes`.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="constant", constant="yes").fit([[0], [1]], ["no", "yes"])
    >>> label_codes(model, [[5], [6]], np.array(["no", "yes"]))
    array([1, 1])
    """
    labels = np.asarray(model.predict(table))  # type: ignore[attr-defined]
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (len(table),):
        raise UnusableModel(
            f"`predict` of {_name(model)} must give one label per row, shape ({len(table)},); got shape "
            f"{labels.shape}. Wrap the model so that `predict` returns class labels."
        )
    codes = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    unknown = classes[codes] != labels
    if unknown.any():
        raise UnusableModel(
            f"`predict` of {_name(model)} gave {labels[unknown][0]!r}, which is none of the classes "
            f"{list(classes)}. A model must predict the labels it was trained on, not scores."
        )
    return np.asarray(codes)


def margins_from_scores(scores: FloatArray, wanted: BoolArray) -> FloatArray:
    """Give the best score of a wanted class minus the best of the others, along the last axis.

    Both shapes end in classes. Where all classes are wanted the margin is infinite, and minus infinite where none is.

    Examples
    --------
    >>> margins_from_scores(np.array([[1.0, 4.0, 3.0]]), np.array([[True, False, True]]))
    array([-1.])
    """
    best = np.where(wanted, scores, -np.inf).max(axis=-1)
    rival = np.where(wanted, -np.inf, scores).max(axis=-1)
    return np.asarray(best - rival)


class GenericGroup:
    """Members of an ensemble that have no kernel; each is asked with the whole batch.

    Parameters
    ----------
    models : sequence of fitted models
        Anything with `predict`; `predict_proba` is used for margins where present, and the response that a decision
        threshold is set on.
    classes : array, sorted
        The labels.
    decode : callable
        Turns points into the table that the models were trained on.
    thresholds : sequence of DecisionThreshold or None, optional
        The decision threshold of each member; None at even odds.
    """

    kind: Kind = "other"
    width = 8
    has_slopes = False

    def __init__(
        self,
        models: Sequence[object],
        classes: AnyArray,
        decode: Callable[[FloatArray], Any],
        thresholds: Sequence[DecisionThreshold | None] | None = None,
    ) -> None:
        self.models: Sequence[object] = list(models)
        self._classes = classes
        self._decode = decode
        self._thresholds = [None] * len(self.models) if thresholds is None else list(thresholds)

    def labels(self, X: FloatArray, members: slice) -> IntArray:
        """Give the class codes, shape (n, m)."""
        table = self._decode(X)
        return np.stack([label_codes(model, table, self._classes) for model in self.models[members]], axis=1)

    def margins(self, X: FloatArray, wanted: BoolArray, members: slice) -> FloatArray:
        """Give the margins for the wanted classes, shape (n, m): positive exactly where the label is wanted."""
        table = self._decode(X)
        pairs = zip(self.models[members], self._thresholds[members], strict=True)
        return np.stack([self._margin(model, threshold, table, wanted) for model, threshold in pairs], axis=1)

    def slopes(self, X: FloatArray, wanted: BoolArray, weights: FloatArray) -> FloatArray:
        """Refuse: the gradient is not known."""
        raise NotImplementedError("members of any kind have no gradient; see `has_slopes`")

    def _margin(self, model: object, threshold: DecisionThreshold | None, table: Any, wanted: BoolArray) -> FloatArray:
        agrees = wanted[np.arange(len(wanted)), label_codes(model, table, self._classes)]
        own = getattr(model, "classes_", self._classes)
        scores: FloatArray | None = None
        if np.array_equal(own, self._classes):
            scores = self._scores(model, table) if threshold is None else _beyond(model, threshold, table)
        if scores is None:
            return np.where(agrees, 1.0, -1.0)
        # `predict` has the last word: calibrated scores, for one, may disagree.
        margins, least = margins_from_scores(scores, wanted), np.finfo(float).tiny
        return np.where(agrees, np.maximum(margins, least), np.minimum(margins, -least))

    def _scores(self, model: object, table: Any) -> FloatArray | None:
        """Give log-odds for two classes, log-probabilities for more; shape (n, classes)."""
        if not hasattr(model, "predict_proba"):
            return None
        probability = np.asarray(model.predict_proba(table), dtype=float)
        if probability.shape != (len(table), len(self._classes)):
            raise UnusableModel(
                f"`predict_proba` of {_name(model)} must give shape ({len(table)}, {len(self._classes)}), one column "
                f"a class; got {probability.shape}."
            )
        p = probability.clip(_LEAST, 1 - _LEAST)
        if len(self._classes) == 2:
            return _sides(np.log(p[:, 1]) - np.log1p(-p[:, 1]))
        return np.asarray(np.log(p))


def _beyond(model: object, threshold: DecisionThreshold, table: Any) -> FloatArray | None:
    """Say how far a response lies beyond the threshold, as scores of both classes."""
    ask = getattr(model, threshold.response, None)
    if ask is None:
        return None
    response = np.asarray(ask(table), dtype=float)
    if threshold.response == "predict_proba":
        response = response[:, threshold.positive]
    elif threshold.positive == 0:
        response = -response
    return _sides(threshold.lead(response, _LEAST))


def _sides(lead: FloatArray) -> FloatArray:
    """Write the lead of the second class over the first as a score of each."""
    return np.stack([np.zeros_like(lead), lead], axis=1)


def _name(model: object) -> str:
    return type(model).__name__
