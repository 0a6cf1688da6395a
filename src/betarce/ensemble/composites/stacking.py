"""Stacking classifiers: a linear final estimator on the answers of other models."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble import linear
from betarce.ensemble.composites.combination import Scored
from betarce.ensemble.composites.responses import probability_kind
from betarce.ensemble.foreign.sklearn_weights import read_linear
from betarce.ensemble.intervals import Interval, sigmoid, softmax
from betarce.ensemble.linear import LinearKernel
from betarce.ensemble.preprocessing.columns import Preprocessing
from betarce.ensemble.unreadable import Unreadable


@dataclass(frozen=True, eq=False)
class FinalEstimator:
    """The linear final estimator of one member; see `Combination`.

    Attributes
    ----------
    final : object
        The estimator.
    weights : array of float, shape (outputs, inputs)
        Those of the answers first, then those of the columns. Preprocessing before the estimator is folded in.
    intercepts : array of float, shape (outputs,)
    reach, offset, unit : array of float, shape (inputs,), float, float
        Bound its rounding errors; see `LinearKernel`.
    n_answers : int
        How many inputs are answers.
    columns : Preprocessing or None
        The preprocessed columns that it gets besides (`passthrough`).
    """

    final: object
    weights: FloatArray
    intercepts: FloatArray
    reach: FloatArray
    offset: float
    unit: float
    n_answers: int
    columns: Preprocessing | None = None

    @property
    def shape(self) -> Hashable:
        """The numbers of outputs and answers, and whether columns are passed through."""
        return ("stacking", type(self.final).__name__, len(self.weights), self.n_answers, self.columns is None)

    def stacked(self, members: Sequence["FinalEstimator"], unit: float) -> "FinalEstimators":
        """Stack the final estimators of all members."""
        q = self.n_answers
        passed: LinearKernel | None = None
        if self.columns is not None:
            passed = linear.stack_weights(
                [each.weights[:, q:] for each in members],
                [each.intercepts for each in members],
                [each.unit for each in members],
                [each.columns for each in members],
            )
        shifts = np.stack([each.intercepts for each in members])
        return FinalEstimators(
            weights=np.stack([each.weights[:, :q] for each in members]),
            intercepts=shifts if passed is None else np.zeros_like(shifts),
            reach=np.max([each.reach[:q] for each in members], axis=0),
            offset=max(each.offset for each in members),
            unit=max(each.unit for each in members) + unit,
            passed=passed,
            gives_probabilities=_has_odds(self.final),
        )


def read_final_estimator(
    final: Any, n_answers: int, before: Preprocessing | None, columns: Preprocessing | None
) -> FinalEstimator:
    """Read a linear final estimator.

    Parameters
    ----------
    final : estimator
    n_answers : int
        How many of its inputs are answers.
    before : Preprocessing or None
        What stands between the answers and the estimator.
    columns : Preprocessing or None
        The preprocessed columns that it gets besides.

    Returns
    -------
    FinalEstimator

    Raises
    ------
    Unreadable
        If it is not linear.
    """
    read = read_linear(final)
    if read is None:
        raise Unreadable(f"StackingClassifier with {type(final).__name__} as its final estimator")
    n_inputs = n_answers + (0 if columns is None else len(columns.outputs))
    kernel = linear.stack_weights([read[0]], [read[1]], [read[2]], [before])
    used = np.arange(n_inputs) if kernel.design is None else kernel.design.numbers
    weights, reach = np.zeros((len(read[0]), n_inputs)), np.zeros(n_inputs)
    weights[:, used], reach[used] = kernel.weights[0, :, : len(used)], kernel.reach[: len(used)]
    return FinalEstimator(final, weights, kernel.intercepts[0], reach, kernel.offset, kernel.unit, n_answers, columns)


def _has_odds(final: object) -> bool:
    try:
        return probability_kind(final) == "odds"
    except Unreadable:
        return False


@dataclass(frozen=True, eq=False)
class FinalEstimators:
    """The linear final estimators of many members, each on its own answers; see `Combiner`."""

    weights: FloatArray  # (members, outputs, answers)
    intercepts: FloatArray  # (members, outputs)
    reach: FloatArray  # (answers,)
    offset: float
    unit: float
    passed: LinearKernel | None
    gives_probabilities: bool

    is_smooth = True

    def scored(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Scored:
        """Give scores and doubt; see `Combiner`."""
        scores, doubt = self._scored(answers, X, members)
        return (scores[..., 0], doubt[..., 0]) if scores.shape[-1] == 1 else (scores, doubt.max(axis=-1))

    def probabilities(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Interval:
        """Give what the final estimators' `predict_proba` would."""
        scores, doubt = self._scored(answers, X, members)
        logits = Interval(scores - doubt, scores + doubt)
        return sigmoid(logits) if scores.shape[-1] == 1 else softmax(logits)

    def gradients(self, answers: Sequence[FloatArray]) -> list[FloatArray]:
        """Give the weights of each answer."""
        return [np.broadcast_to(self.weights[:, :, k], answer.shape) for k, answer in enumerate(answers)]

    def slopes(self, X: FloatArray, weights: FloatArray) -> FloatArray | float:
        """Give the gradient in the columns that are passed through."""
        return 0.0 if self.passed is None else self.passed.slopes(X, weights)

    def _scored(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Scored:
        """Give scores and doubt, both of shape (n, members, outputs)."""
        low, high = (np.concatenate(sides, axis=-1) for sides in zip(*answers, strict=True))
        weights = self.weights[members]
        middle = (low + high) / 2
        scores = np.einsum("nmq,moq->nmo", middle, weights) + self.intercepts[members]
        doubt = np.einsum("nmq,moq->nmo", (high - low) / 2, np.abs(weights))
        doubt += (self.unit * (np.abs(middle) @ self.reach + self.offset))[..., np.newaxis]
        if self.passed is not None:
            passed = self.passed.scores(X, members).reshape(scores.shape)
            scores += passed
            doubt += np.asarray(self.passed.doubt(X, members))[..., np.newaxis]
        return scores, doubt
