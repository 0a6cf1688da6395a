"""Evaluate members of one family with a kernel.

Close calls, where rounding could have changed a label, are put to the members themselves.
"""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, cast

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.decision_threshold import DecisionThreshold
from betarce.ensemble.generic import label_codes, margins_from_scores
from betarce.ensemble.kernel import Kernel, Kind, LinearizedKernel, ReplayedKernel, SlopedKernel, evaluated, has_slopes


class StackedGroup:
    """Members of an ensemble that one kernel evaluates.

    Parameters
    ----------
    models : sequence of fitted models
    classes : array, sorted
        The labels.
    decode : callable
        Turns points into the table that the models were trained on.
    kernel : Kernel
        Of the same members.
    score_thresholds : array of shape (members,), optional
        The score above which each member's label is the second class; 0 by default.
    rounding : array of shape (members,), optional
        Bounds on the rounding of these thresholds.
    """

    def __init__(
        self,
        models: Sequence[object],
        classes: AnyArray,
        decode: Callable[[FloatArray], Any],
        kernel: Kernel,
        *,
        score_thresholds: FloatArray | None = None,
        rounding: FloatArray | None = None,
    ) -> None:
        self.models: Sequence[object] = list(models)
        self._classes = classes
        self._decode = decode
        self.kernel = kernel
        self._score_thresholds = score_thresholds
        self._rounding = rounding

    def with_models(self, models: Sequence[object]) -> "StackedGroup":
        """Give the same group with its models in another form."""
        other = copy(self)
        other.models = models
        return other

    @property
    def kind(self) -> Kind:
        """The kind of the members."""
        return self.kernel.kind

    @cached_property
    def width(self) -> int:
        """How many floats are held at once for each point and member."""
        return self.kernel.width

    @cached_property  # asked all the time, and slow to find out
    def has_slopes(self) -> bool:
        """Whether the kernel has gradients."""
        return has_slopes(self.kernel)

    @property
    def at_even_odds(self) -> bool:
        """Whether all members decide at even odds."""
        return self._score_thresholds is None and self._rounding is None

    def slopes(self, X: FloatArray, wanted: BoolArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of the margins, shape (n, d)."""
        kernel = cast(SlopedKernel, self.kernel)
        if len(self._classes) == 2:
            return kernel.slopes(X, _signed(wanted, weights))
        return kernel.slopes(X, _on_best(kernel.scores(X, slice(None)), wanted, weights))

    def linearized(self, X: FloatArray, wanted: BoolArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Give the margins of all members, and a function from weights of them to `slopes`."""
        if not hasattr(self.kernel, "linearized"):
            return self.margins(X, wanted, slice(None)), lambda weights: self.slopes(X, wanted, weights)
        scores, slopes = cast(LinearizedKernel, self.kernel).linearized(X)
        scored = self._relative(scores, self.kernel.doubt(X, slice(None)), slice(None))
        margins = self._margins(X, wanted, slice(None), *scored)
        if len(self._classes) == 2:
            return margins, lambda weights: slopes(_signed(wanted, weights))
        return margins, lambda weights: slopes(_on_best(scores, wanted, weights))

    def labels(self, X: FloatArray, members: slice) -> IntArray:
        """Give the class codes, shape (n, m)."""
        scores, doubt = self.scored(X, members)
        if scores.ndim == 2:
            labels = (scores > 0).astype(np.intp)
            gap = np.abs(scores)
        else:
            labels = scores.argmax(axis=2)
            best = np.partition(scores, -2, axis=2)
            gap = best[..., -1] - best[..., -2]
        return self._settle(X, labels, gap > doubt, members)

    def margins(self, X: FloatArray, wanted: BoolArray, members: slice) -> FloatArray:
        """Give the margins for the wanted classes, shape (n, m): positive exactly where the label is wanted."""
        return self._margins(X, wanted, members, *self.scored(X, members))

    def _margins(
        self, X: FloatArray, wanted: BoolArray, members: slice, scores: FloatArray, doubt: FloatArray | float
    ) -> FloatArray:
        if scores.ndim == 3:
            margins = margins_from_scores(scores, wanted[:, None])
        elif (wanted[:, 0] != wanted[:, 1]).all():
            margins = np.where(wanted[:, 1:], scores, -scores)
        else:
            margins = margins_from_scores(np.stack([np.zeros_like(scores), scores], axis=2), wanted[:, None])
        sure = np.abs(margins) > doubt
        if sure.all():
            return margins
        agrees = self._settle(X, margins > 0, sure, members, wanted=wanted)
        least = np.finfo(margins.dtype).tiny
        wrong = (agrees != (margins > 0)) | np.isnan(margins)
        return np.where(wrong, np.where(agrees, least, -least), margins)

    def scored(self, X: FloatArray, members: slice) -> tuple[FloatArray, FloatArray | float]:
        """Give scores relative to the decision threshold, and the least distance from it that makes a label sure."""
        return self._relative(*evaluated(self.kernel, X, members), members)

    def _relative(
        self, scores: FloatArray, doubt: FloatArray | float, members: slice
    ) -> tuple[FloatArray, FloatArray | float]:
        if scores.ndim == 3:
            doubt = 2 * doubt  # two scores are compared, and both may be off
        if self._rounding is not None:
            doubt = doubt + self._rounding[members]
        return scores if self._score_thresholds is None else scores - self._score_thresholds[members], doubt

    def _settle(
        self, X: FloatArray, answers: AnyArray, sure: BoolArray, members: slice, *, wanted: BoolArray | None = None
    ) -> AnyArray:
        """Ask the members themselves wherever rounding could have changed the answer, or the kernel has none (NaN).

        `answers` are labels, or, with wanted classes, whether they are among them.
        """
        if sure.all():
            return answers
        doubtful, places = ~sure, range(len(self.models))[members]
        for j in np.flatnonzero(doubtful.any(axis=0)):
            rows = np.flatnonzero(doubtful[:, j])
            codes = self._own_codes(X[rows], places[j])
            answers[rows, j] = codes if wanted is None else wanted[rows, codes]
        return answers

    def _own_codes(self, X: FloatArray, member: int) -> IntArray:
        if self.at_even_odds and hasattr(self.kernel, "replayed"):
            codes = cast(ReplayedKernel, self.kernel).replayed(X, member)
            if codes is not None:
                return codes
        return label_codes(self.models[member], self._decode(X), self._classes)


def _signed(wanted: BoolArray, weights: FloatArray) -> FloatArray:
    """Turn weights of the margins into weights of log-odds."""
    sign = wanted[:, 1].astype(float) - wanted[:, 0]
    return np.asarray(sign[:, None, None] * weights[..., None])


def _on_best(scores: FloatArray, wanted: BoolArray, weights: FloatArray) -> FloatArray:
    """Turn weights of the margins into weights of the scores of several classes."""
    upstream = np.zeros_like(scores)
    for side, allowed in ((weights, wanted), (-weights, ~wanted)):
        best = np.where(allowed[:, None], scores, -np.inf).argmax(axis=2)[..., None]
        np.put_along_axis(upstream, best, side[..., None], axis=2)
    upstream[wanted.all(axis=1) | ~wanted.any(axis=1)] = 0  # an infinite margin does not move
    return upstream


def threshold_arrays(thresholds: Sequence[DecisionThreshold | None], scores: Sequence[float]) -> dict[str, FloatArray]:
    """Give `score_thresholds` and `rounding` of a group; nothing where all members decide at even odds."""
    if all(threshold is None for threshold in thresholds):
        return {}
    rounding = [0.0 if threshold is None else threshold.rounding for threshold in thresholds]
    return {"score_thresholds": np.array(scores), "rounding": np.array(rounding)}
