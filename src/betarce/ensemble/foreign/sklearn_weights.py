"""Read the weights of scikit-learn's linear models and networks."""

from typing import Any

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.ensemble.unreadable import Unreadable


def read_linear(model: Any) -> tuple[FloatArray, FloatArray, float] | None:
    """Read weights (outputs, columns), intercepts (outputs,) and unit roundoff; None if the model is not linear."""
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier, SGDClassifier
    from sklearn.svm import LinearSVC

    # Exact types: a subclass may predict in its own way.
    if type(model) not in (LogisticRegression, LogisticRegressionCV, LinearSVC, RidgeClassifier, SGDClassifier):
        return None
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    intercepts = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(weights))
    if len(weights) != (1 if len(model.classes_) == 2 else len(model.classes_)):
        raise Unreadable(f"{type(model).__name__} with several labels for each row")
    return weights, intercepts, float(np.finfo(np.asarray(model.coef_).dtype).eps)


def read_mlp(model: Any) -> tuple[list[FloatArray], list[FloatArray], str, AnyArray] | None:
    """Read the weights, biases, activation and classes of an `MLPClassifier`; None for other or unfitted models."""
    from sklearn.neural_network import MLPClassifier

    if type(model) is not MLPClassifier or not hasattr(model, "classes_"):
        return None
    if model.out_activation_ != ("logistic" if model.n_outputs_ == 1 else "softmax"):
        raise Unreadable("MLPClassifier with several labels for each row")
    weights, biases = ([layer.astype(np.float64) for layer in part] for part in (model.coefs_, model.intercepts_))
    return weights, biases, model.activation, np.asarray(model.classes_)
