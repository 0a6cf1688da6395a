"""Evaluate linear members by one matrix product."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.foreign.sklearn_weights import read_linear
from betarce.ensemble.kernel import Kind
from betarce.ensemble.preprocessing.columns import Preprocessing
from betarce.ensemble.preprocessing.design_matrix import Design, FoldedPreprocessing, fold
from betarce.ensemble.preprocessing.unwrapped import UnwrappedModel
from betarce.ensemble.unreadable import Unreadable


@dataclass(frozen=True, eq=False)
class LinearKernel:
    """Many linear classifiers.

    Attributes
    ----------
    weights : array of float, shape (members, outputs, columns)
        One output for two classes, one per class for more. The columns are those of the points or of the design.
    intercepts : array of float, shape (members, outputs)
    reach : array of float, shape (columns,)
        A bound on how much the scores of any member move with |x|: rounding errors grow with it.
    offset : float
        The part of the bound that does not depend on x.
    unit : float
        The relative rounding error of one operation, times the number of operations.
    design : Design or None
        The layout of the design matrix; None if points are taken as they are.
    """

    kind: ClassVar[Kind] = "linear"

    weights: FloatArray
    intercepts: FloatArray
    reach: FloatArray
    offset: float
    unit: float
    design: Design | None = None

    @property
    def width(self) -> int:
        """One product and one sum per score, and each member's share of the design matrix."""
        return 2 * int(self.weights.shape[1]) + (0 if self.design is None else 3 * self.design.width // len(self))

    def __len__(self) -> int:
        return len(self.weights)

    def scores(self, X: FloatArray, members: slice) -> FloatArray:
        """Score points with a slice of the members; see `Kernel.scores`."""
        weights = self.weights[members]
        m, outputs, d = weights.shape
        product = self._inputs(X) @ weights.reshape(m * outputs, d).T
        product += self.intercepts[members].reshape(-1)
        return product if outputs == 1 else product.reshape(len(X), m, outputs)

    def doubt(self, X: FloatArray, members: slice) -> FloatArray:
        """Bound the rounding error of a dot product of this length."""
        return np.asarray(self.unit * (np.abs(self._inputs(X)) @ self.reach + self.offset))[:, None]

    def slopes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of all scores; see `SlopedKernel.slopes`."""
        m, outputs, d = self.weights.shape
        slopes = weights.reshape(len(X), m * outputs) @ self.weights.reshape(m * outputs, d)
        return slopes if self.design is None else self.design.slopes(slopes, X)

    def _inputs(self, X: FloatArray) -> FloatArray:
        return X if self.design is None else self.design.matrix(X)


def stack(models: Sequence[UnwrappedModel]) -> LinearKernel | None:
    """Stack linear classifiers with their preprocessing folded in; None if any of them is something else.

    Parameters
    ----------
    models : sequence of UnwrappedModel

    Returns
    -------
    LinearKernel or None

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> stack([UnwrappedModel(model), UnwrappedModel(model)]).weights.shape
    (2, 1, 1)
    >>> stack([UnwrappedModel(model), UnwrappedModel("another model")]) is None
    True
    """
    read = [read_linear(model.estimator) for model in models]
    known = [each for each in read if each is not None]
    if len(known) < len(read):
        return None
    weights, intercepts, units = zip(*known, strict=True)
    return stack_weights(weights, intercepts, units, [model.preprocessing for model in models])


def stack_weights(
    weights: Sequence[FloatArray],
    intercepts: Sequence[FloatArray],
    units: Sequence[float],
    preprocessing: Sequence[Preprocessing | None],
) -> LinearKernel:
    """Stack linear classifiers that are given by their weights.

    Parameters
    ----------
    weights : sequence of array, each of shape (outputs, inputs)
    intercepts : sequence of array, each of shape (outputs,)
    units : sequence of float
        The relative rounding error of each member.
    preprocessing : sequence of Preprocessing or None
        That of each member, to be folded into its weights.

    Returns
    -------
    LinearKernel

    Raises
    ------
    Unreadable
        If a scaler clips its numbers, or members differ in their columns.
    """
    units = list(units)
    longest = max(w.shape[1] for w in weights)
    design: Design | None = None
    if any(each is not None for each in preprocessing):
        found = fold(preprocessing, longest)
        if found is None:
            raise Unreadable("a scaler that clips, before a linear model")
        design, folds = found
        units += [each.unit for each in folds]
        folded = [_fold(w, i, each) for w, i, each in zip(weights, intercepts, folds, strict=True)]
    else:
        folded = [
            (w, i, np.abs(w).max(axis=0, initial=0.0), np.abs(i).max())
            for w, i in zip(weights, intercepts, strict=True)
        ]
    if len({w.shape for w, *_ in folded}) > 1:
        raise Unreadable("linear models of different columns")
    stacked, shifts, reach, offsets = (np.stack(parts) for parts in zip(*folded, strict=True))
    # As many operations as columns, each as exact as the member's own numbers are.
    operations = 8 * (max(longest, stacked.shape[2]) + 4)
    return LinearKernel(stacked, shifts, reach.max(axis=0), float(offsets.max()), operations * max(units), design)


def _fold(
    weights: FloatArray, intercepts: FloatArray, before: FoldedPreprocessing
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Turn weights of preprocessed columns into weights of design columns, with bounds on all that is added up."""
    folded = (before.matrix @ weights.T).T
    size = abs(before.matrix) @ np.abs(weights).max(axis=0)
    offset = np.abs(weights).max(axis=0) @ np.abs(before.shift) + np.abs(intercepts).max()
    return folded, intercepts + weights @ before.shift, size, np.asarray(offset)
