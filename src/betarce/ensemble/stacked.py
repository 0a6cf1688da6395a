"""Members of one family behind a kernel, with close calls settled by the members themselves."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.generic import label_codes
from betarce.ensemble.kernel import Kernel, SlopedKernel


class StackedPart:
    """Some members of an ensemble, evaluated by a kernel.

    The parameters are those of `GenericPart`, and the kernel of the same members.
    """

    def __init__(
        self, models: Sequence[object], classes: AnyArray, decode: Callable[[FloatArray], Any], kernel: Kernel
    ) -> None:
        self.models = list(models)
        self._classes = classes
        self._decode = decode
        self._kernel = kernel

    @property
    def width(self) -> int:
        """How many floats are held at once for each point and member."""
        return self._kernel.width

    @property
    def has_slopes(self) -> bool:
        """Whether the kernel has gradients."""
        return hasattr(self._kernel, "slopes")

    def slopes(self, X: FloatArray, target: IntArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of the margins, shape (n, d)."""
        assert isinstance(self._kernel, SlopedKernel)
        if len(self._classes) == 2:
            return self._kernel.slopes(X, np.where(target == 1, 1.0, -1.0)[:, None, None] * weights[..., None])
        scores = self._kernel.scores(X, slice(None))
        rows = np.arange(len(X))
        scores[rows, :, target] = -np.inf
        upstream = np.zeros_like(scores)
        np.put_along_axis(upstream, scores.argmax(axis=2)[..., None], -weights[..., None], axis=2)
        upstream[rows, :, target] = weights
        return self._kernel.slopes(X, upstream)

    def labels(self, X: FloatArray, members: slice) -> IntArray:
        """Give the class codes, shape (n, m)."""
        scores = self._kernel.scores(X, members)
        if scores.ndim == 2:
            labels = (scores > 0).astype(np.intp)
            gap = np.abs(scores)
        else:
            labels = scores.argmax(axis=2)
            best = np.partition(scores, -2, axis=2)
            gap = best[..., -1] - best[..., -2]
        return self._settle(X, labels, gap, members, outputs=scores.ndim - 1)

    def margins(self, X: FloatArray, target: IntArray, members: slice) -> FloatArray:
        """Give the margins for the target class, shape (n, m): positive exactly where the label is the target."""
        scores = self._kernel.scores(X, members)
        if scores.ndim == 2:
            margins = np.where(target[:, None] == 1, scores, -scores)
        else:
            rows = np.arange(len(X))
            wanted = scores[rows, :, target]
            scores[rows, :, target] = -np.inf
            margins = wanted - scores.max(axis=2)
        agrees = self._settle(X, margins > 0, np.abs(margins), members, outputs=scores.ndim - 1, target=target)
        least = np.finfo(margins.dtype).tiny
        wrong = agrees != (margins > 0)
        return np.where(wrong, np.where(agrees, least, -least), margins)

    def _settle(
        self,
        X: FloatArray,
        answers: AnyArray,
        gap: FloatArray,
        members: slice,
        *,
        outputs: int,
        target: IntArray | None = None,
    ) -> AnyArray:
        """Ask the members themselves wherever rounding could have changed the answer.

        `answers` are labels, or, with a target, whether they equal it; `gap` says by how much they were reached.
        """
        doubtful = self._doubtful(X, gap, members, outputs)
        for j in np.flatnonzero(doubtful.any(axis=0)):
            rows = np.flatnonzero(doubtful[:, j])
            codes = label_codes(self.models[members][j], self._decode(X[rows]), self._classes)
            answers[rows, j] = codes if target is None else codes == target[rows]
        return answers

    def _doubtful(self, X: FloatArray, gap: FloatArray, members: slice, outputs: int) -> BoolArray:
        doubt = self._kernel.doubt(X, members)
        # Two scores are compared where there are many classes: both may be off.
        return np.asarray(gap <= doubt * outputs)
