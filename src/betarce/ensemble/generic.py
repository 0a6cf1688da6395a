"""Members of any kind, asked one after the other with the whole batch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, FloatArray, IntArray
from betarce.errors import UnusableModel

_LEAST = 1e-9  # probabilities this close to 0 or 1 say no more than "sure"


def label_codes(model: object, table: Any, classes: AnyArray) -> IntArray:
    """Ask a model for its labels and give their positions in `classes`.

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
            f"`predict` of {_name(model)} must give one label a row, shape ({len(table)},); got shape "
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


class GenericPart:
    """Some members of an ensemble that no kernel knows.

    Parameters
    ----------
    models : sequence of fitted models
        Anything with `predict`; `predict_proba` or `decision_function` are used for margins where present.
    classes : array, sorted
        The labels.
    decode : callable
        Turns points into the table that the models were trained on.
    """

    width = 8
    has_slopes = False

    def __init__(self, models: Sequence[object], classes: AnyArray, decode: Callable[[FloatArray], Any]) -> None:
        self.models = list(models)
        self._classes = classes
        self._decode = decode

    def labels(self, X: FloatArray, members: slice) -> IntArray:
        """Give the class codes, shape (n, m)."""
        table = self._decode(X)
        return np.stack([label_codes(model, table, self._classes) for model in self.models[members]], axis=1)

    def margins(self, X: FloatArray, target: IntArray, members: slice) -> FloatArray:
        """Give the margins for the target class, shape (n, m): positive exactly where the label is the target."""
        table = self._decode(X)
        columns = [self._margin(model, table, target) for model in self.models[members]]
        return np.stack(columns, axis=1)

    def slopes(self, X: FloatArray, target: IntArray, weights: FloatArray) -> FloatArray:
        """Refuse: nothing is known of what happens between points."""
        raise NotImplementedError("members of any kind have no gradient; see `has_slopes`")

    def _margin(self, model: object, table: Any, target: IntArray) -> FloatArray:
        agrees = label_codes(model, table, self._classes) == target
        log_odds = self._log_odds(model, table, target)
        if log_odds is None:
            return np.where(agrees, 1.0, -1.0)
        # `predict` has the last word: thresholds other than one half, and calibrated scores, may disagree.
        least = np.finfo(float).tiny
        return np.where(agrees, np.maximum(log_odds, least), np.minimum(log_odds, -least))

    def _log_odds(self, model: object, table: Any, target: IntArray) -> FloatArray | None:
        own = getattr(model, "classes_", self._classes)
        if not (hasattr(model, "predict_proba") and np.array_equal(own, self._classes)):
            return None
        probability = np.asarray(model.predict_proba(table), dtype=float)
        if probability.shape != (len(table), len(self._classes)):
            raise UnusableModel(
                f"`predict_proba` of {_name(model)} must give shape ({len(table)}, {len(self._classes)}), one column "
                f"a class; got {probability.shape}."
            )
        p = probability[np.arange(len(target)), target].clip(_LEAST, 1 - _LEAST)
        if len(self._classes) == 2:
            return np.asarray(np.log(p) - np.log1p(-p))
        probability[np.arange(len(target)), target] = 0
        rival = probability.max(axis=1).clip(_LEAST, 1 - _LEAST)
        return np.asarray(np.log(p) - np.log(rival))


def _name(model: object) -> str:
    return type(model).__name__
