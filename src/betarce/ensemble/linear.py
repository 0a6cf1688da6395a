"""Linear members as one matrix product."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.affine import Peeled


@dataclass(frozen=True, eq=False)
class LinearKernel:
    """Many linear classifiers.

    Attributes
    ----------
    weights : array of float, shape (members, outputs, features)
        One output for two classes, one a class for more.
    intercepts : array of float, shape (members, outputs)
    reach : array of float, shape (features,)
        The largest |weight| of any member, by which rounding errors grow with |x|.
    offset : float
        The part of them that does not depend on x.
    """

    weights: FloatArray
    intercepts: FloatArray
    reach: FloatArray
    offset: float

    @property
    def width(self) -> int:
        """One product, one sum a score."""
        return 2 * int(self.weights.shape[1])

    def __len__(self) -> int:
        return len(self.weights)

    def scores(self, X: FloatArray, members: slice) -> FloatArray:
        """Score points with a slice of the members; see `Kernel.scores`."""
        weights = self.weights[members]
        m, outputs, d = weights.shape
        product = X @ weights.reshape(m * outputs, d).T
        product += self.intercepts[members].reshape(-1)
        return product if outputs == 1 else product.reshape(len(X), m, outputs)

    def doubt(self, X: FloatArray, members: slice) -> FloatArray:
        """Bound the rounding error of a dot product of this length."""
        operations = 8 * (X.shape[1] + 4)
        return np.asarray(operations * np.finfo(float).eps * (np.abs(X) @ self.reach + self.offset))[:, None]

    def slopes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of all scores; see `SlopedKernel.slopes`."""
        m, outputs, d = self.weights.shape
        return weights.reshape(len(X), m * outputs) @ self.weights.reshape(m * outputs, d)


def stack(models: Sequence[Peeled]) -> LinearKernel | None:
    """Stack linear classifiers, scalers folded in; None if any of them is something else."""
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier, SGDClassifier
    from sklearn.svm import LinearSVC

    families = (LogisticRegression, LogisticRegressionCV, LinearSVC, RidgeClassifier, SGDClassifier)
    if not all(type(model.core) in families for model in models):
        return None
    folded = [_fold(model) for model in models]
    if len({weights.shape for weights, *_ in folded}) > 1:
        return None
    weights, intercepts, reach, offsets = (np.stack(parts) for parts in zip(*folded, strict=True))
    return LinearKernel(weights, intercepts, reach.max(axis=0), float(offsets.max()))


def _fold(model: Peeled) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    core = model.core
    weights = np.atleast_2d(np.asarray(core.coef_, dtype=np.float64))
    intercepts = np.broadcast_to(np.asarray(core.intercept_, dtype=np.float64), (len(weights),))
    scale = np.ones(weights.shape[1]) if model.scale is None else model.scale
    shift = np.zeros(weights.shape[1]) if model.shift is None else model.shift
    size = np.abs(weights).max(axis=0)
    offsets = size @ np.abs(shift) + np.abs(intercepts).max()
    return weights * scale, intercepts + weights @ shift, size * np.abs(scale), np.asarray(offsets)
