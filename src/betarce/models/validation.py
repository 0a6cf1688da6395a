"""A classifier that holds out some of its training rows for validation."""

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from betarce.arrays import AnyArray
from betarce.errors import InvalidInput


class ValidationSplit(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train a classifier on a random part of the rows; the rest is its validation set.

    The paper trains every model this way. It is also what makes deterministic learners differ from seed to seed.

    Parameters
    ----------
    estimator : classifier
        The classifier to train. A LightGBM classifier gets the validation rows as its evaluation set.
    validation : float
        The share of the rows held out, in (0, 1).
    random_state : int or None
        Seed of the split.

    Examples
    --------
    >>> import numpy as np
    >>> from betarce.models import ValidationSplit
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    >>> ValidationSplit(LogisticRegression(), random_state=0).fit(X, y).predict([[0.0], [19.0]])
    array([False,  True])
    """

    def __init__(self, estimator: Any, *, validation: float = 0.2, random_state: int | None = None) -> None:
        self.estimator = estimator
        self.validation = validation
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "ValidationSplit":
        """Split the rows, then train the classifier on the larger part."""
        if not 0 < self.validation < 1:
            raise InvalidInput(f"`validation` must be strictly between 0 and 1; got {self.validation!r}.")
        train, held = split_rows(np.asarray(y), self.validation, self.random_state)
        parts = [_safe_indexing(table, rows) for table in (X, y) for rows in (train, held)]
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(parts[0], parts[2], **_evaluation_set(self.estimator_, *parts[1:]))
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> AnyArray:
        """Predict the label of each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> AnyArray:
        """Predict the probability of each class, shape (n, classes)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))


def _evaluation_set(estimator: Any, X: Any, y_train: Any, y: Any) -> dict[str, Any]:
    """Pass the validation rows to a LightGBM classifier by the parameter that its version has."""
    if not type(estimator).__module__.startswith("lightgbm"):
        return {}
    if "eval_X" not in signature(estimator.fit).parameters:
        return {"eval_set": [(X, y)]}
    # Under the newer name it takes the labels as they are, while it trains on their places among the classes.
    return {"eval_X": X, "eval_y": np.searchsorted(np.unique(np.asarray(y_train)), np.asarray(y))}


def split_rows(y: AnyArray, validation: float, seed: int | None) -> tuple[AnyArray, AnyArray]:
    """Split row numbers at random into training and validation, stratified where the classes are large enough.

    Examples
    --------
    >>> train, held = split_rows(np.array([0, 1] * 10), 0.2, seed=0)
    >>> len(train), len(held)
    (16, 4)
    """
    _, counts = np.unique(y, return_counts=True)
    n_held = int(np.ceil(validation * len(y)))
    can_stratify = counts.min() >= 2 and n_held >= len(counts) and len(y) - n_held >= len(counts)
    train, held = train_test_split(
        np.arange(len(y)), test_size=n_held, random_state=seed, stratify=y if can_stratify else None
    )
    return train, held
