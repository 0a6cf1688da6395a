"""What a kernel is: the members of one family, evaluated by one stacked computation."""

from typing import ClassVar, Literal, Protocol, runtime_checkable

from betarce.arrays import FloatArray

Kind = Literal["linear", "network", "trees", "other"]
"""What members are, as far as it decides how many of them are needed."""


class Kernel(Protocol):
    """Scores of many members of one family at many points.

    A kernel only computes numbers. Labels, margins, votes, chunking and close calls are dealt with in
    `betarce.ensemble`, once for all families.
    """

    kind: ClassVar[Kind]

    @property
    def width(self) -> int:
        """How many floats it holds at once for each point and member: the caller cuts its batches by it."""

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

        A float, or an array that broadcasts to (n, m). Where a label hangs on less than this, the member
        itself is asked, so that kernel and member agree to the label.
        """


@runtime_checkable
class SlopedKernel(Kernel, Protocol):
    """A kernel whose scores have a gradient."""

    def slopes(self, X: FloatArray, weights: FloatArray) -> FloatArray:
        """Give the gradient of the weighted sum of all scores, shape (n, d).

        `weights` has shape (n, members, outputs), one output for two classes.
        """
