"""The protocol of kernels, which evaluate all members of one family at once."""

from collections.abc import Callable
from typing import Literal, Protocol, cast, runtime_checkable

from betarce.arrays import FloatArray, IntArray
from betarce.ensemble.intervals import Interval

Kind = Literal["linear", "network", "trees", "other"]
"""Kinds of members; the kind decides how many of them are needed."""


class Kernel(Protocol):
    """Scores of many members of one family at many points.

    A kernel only computes numbers. `betarce.ensemble` deals with labels, margins, votes, chunks and close calls, once
    for all families.
    """

    @property
    def kind(self) -> Kind:
        """The kind of the members; for models made of others, that of their parts if these are all alike."""

    @property
    def width(self) -> int:
        """The floats held at once per point and member; the caller chooses the size of its batches by it."""

    def __len__(self) -> int:
        """Give the number of members."""

    def scores(self, X: FloatArray, members: slice) -> FloatArray:
        """Score points of shape (n, d), finite or missing, with a slice of the members.

        Two classes: shape (n, m), log-odds-like, positive where the member says `classes[1]`.
        More classes: shape (n, m, classes), on a log scale where there is one; the largest wins.
        NaN where a member may refuse to answer: then it is asked itself.
        """

    def doubt(self, X: FloatArray, members: slice) -> FloatArray | float:
        """Bound how far a score may lie from the member's own because of rounding.

        A float, or an array that broadcasts to (n, m). Where a label hangs on less than this, the member itself is
        asked, so that kernel and member always give the same label.
        """


@runtime_checkable
class SlopedKernel(Kernel, Protocol):
    """A kernel whose scores have a gradient."""

    def slopes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of all scores, shape (n, d).

        `weights` has shape (n, members, outputs), one output for two classes.
        """


@runtime_checkable
class LinearizedKernel(SlopedKernel, Protocol):
    """A kernel that need not score points again to give their slopes."""

    def linearized(self, X: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Give the scores of all members, and a function from weights of them to what `slopes` gives."""


class ScoredKernel(Kernel, Protocol):
    """A kernel that computes scores and doubt together."""

    def scored(self, X: FloatArray, members: slice) -> tuple[FloatArray, FloatArray]:
        """Give the results of `scores` and `doubt`."""


class ReplayedKernel(Kernel, Protocol):
    """A kernel that can repeat a member's own sums, in the member's order.

    Forests of a few pure trees are in doubt at every tenth point: five of ten trees say no.
    """

    def replayed(self, X: FloatArray, member: int) -> IntArray | None:
        """Give the codes that a member answers which decides at even odds, shape (n,); None if it must be asked."""


@runtime_checkable
class ProbabilityKernel(Kernel, Protocol):
    """A kernel that may give the members' probabilities, bounded on both sides."""

    @property
    def gives_probabilities(self) -> bool:
        """Whether it does."""

    def probabilities(self, X: FloatArray, members: slice) -> Interval:
        """Give what `predict_proba` gives: shape (n, m, 1) for the second of two classes, else (n, m, classes)."""


def evaluated(kernel: Kernel, X: FloatArray, members: slice) -> tuple[FloatArray, FloatArray | float]:
    """Give the scores of points and the doubt about them."""
    if hasattr(kernel, "scored"):  # cheaper than `isinstance` of a protocol, and asked all the time
        return cast(ScoredKernel, kernel).scored(X, members)
    return kernel.scores(X, members), kernel.doubt(X, members)


def has_slopes(kernel: Kernel) -> bool:
    """Say whether a kernel has gradients; that of models made of others has them or not."""
    return isinstance(kernel, SlopedKernel) and bool(getattr(kernel, "is_smooth", True))


def gives_probabilities(kernel: Kernel) -> bool:
    """Say whether a kernel knows probabilities itself."""
    return isinstance(kernel, ProbabilityKernel) and kernel.gives_probabilities
