"""Members of one family behind a kernel, with close calls settled by the members themselves."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.generic import label_codes, margins_from_scores
from betarce.ensemble.kernel import Kernel, Kind, SlopedKernel, evaluated, has_slopes
from betarce.ensemble.preprocessing.thresholds import Threshold


class StackedPart:
    """Some members of an ensemble, evaluated by a kernel.

    The parameters are those of `GenericPart`, and the kernel of the same members, with the score at which each
    member's label turns and the doubt about it.
    """

    def __init__(
        self,
        models: Sequence[object],
        classes: AnyArray,
        decode: Callable[[FloatArray], Any],
        kernel: Kernel,
        *,
        turns: FloatArray | None = None,
        blurs: FloatArray | None = None,
    ) -> None:
        self.models = list(models)
        self._classes = classes
        self._decode = decode
        self._kernel = kernel
        self._turns = turns
        self._blurs = blurs

    @property
    def kind(self) -> Kind:
        """What the members are."""
        return self._kernel.kind

    @property
    def width(self) -> int:
        """How many floats are held at once for each point and member."""
        return self._kernel.width

    @property
    def has_slopes(self) -> bool:
        """Whether the kernel has gradients."""
        return has_slopes(self._kernel)

    def slopes(self, X: FloatArray, wanted: BoolArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of the margins, shape (n, d)."""
        assert isinstance(self._kernel, SlopedKernel)
        if len(self._classes) == 2:
            sign = wanted[:, 1].astype(float) - wanted[:, 0]
            return self._kernel.slopes(X, sign[:, None, None] * weights[..., None])
        scores = self._kernel.scores(X, slice(None))
        upstream = np.zeros_like(scores)
        for side, allowed in ((weights, wanted), (-weights, ~wanted)):
            best = np.where(allowed[:, None], scores, -np.inf).argmax(axis=2)[..., None]
            np.put_along_axis(upstream, best, side[..., None], axis=2)
        upstream[wanted.all(axis=1) | ~wanted.any(axis=1)] = 0  # an infinite margin does not move
        return self._kernel.slopes(X, upstream)

    def labels(self, X: FloatArray, members: slice) -> IntArray:
        """Give the class codes, shape (n, m)."""
        scores, doubt = self._scored(X, members)
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
        scores, doubt = self._scored(X, members)
        if scores.ndim == 3:
            margins = margins_from_scores(scores, wanted[:, None])
        elif (wanted[:, 0] != wanted[:, 1]).all():
            margins = np.where(wanted[:, 1:], scores, -scores)
        else:
            margins = margins_from_scores(np.stack([np.zeros_like(scores), scores], axis=2), wanted[:, None])
        agrees = self._settle(X, margins > 0, np.abs(margins) > doubt, members, wanted=wanted)
        least = np.finfo(margins.dtype).tiny
        wrong = (agrees != (margins > 0)) | np.isnan(margins)
        return np.where(wrong, np.where(agrees, least, -least), margins)

    def _scored(self, X: FloatArray, members: slice) -> tuple[FloatArray, FloatArray | float]:
        """Give scores, zero where labels turn, and by how much a label must have been reached to be sure."""
        scores, doubt = evaluated(self._kernel, X, members)
        if scores.ndim == 3:
            doubt = 2 * doubt  # two scores are compared, and both may be off
        if self._blurs is not None:
            doubt = doubt + self._blurs[members]
        return scores if self._turns is None else scores - self._turns[members], doubt

    def _settle(
        self, X: FloatArray, answers: AnyArray, sure: BoolArray, members: slice, *, wanted: BoolArray | None = None
    ) -> AnyArray:
        """Ask the members themselves wherever rounding could have changed the answer, or a kernel has none (NaN).

        `answers` are labels, or, with wanted classes, whether they are among them.
        """
        doubtful = ~sure
        for j in np.flatnonzero(doubtful.any(axis=0)):
            rows = np.flatnonzero(doubtful[:, j])
            codes = label_codes(self.models[members][j], self._decode(X[rows]), self._classes)
            answers[rows, j] = codes if wanted is None else wanted[rows, codes]
        return answers


def turning_points(thresholds: Sequence[Threshold | None], offsets: Sequence[float]) -> dict[str, FloatArray]:
    """Give `turns` and `blurs` of a part; nothing where all members decide at even odds."""
    if all(threshold is None for threshold in thresholds):
        return {}
    blurs = [0.0 if threshold is None else threshold.blur for threshold in thresholds]
    return {"turns": np.array(offsets), "blurs": np.array(blurs)}
