"""Answers of one row at other deltas: the rungs of its ladder with their votes."""

from dataclasses import dataclass, replace

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.posterior import Guarantee

LEAST_DELTA = 0.5
"""Answers for lower deltas are not recorded: what fails under every other model is no advice."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The rungs at which a walk of the certifying members ends for some delta, safest first.

    A walk stops at the first rung that misses its quorum, so for any quorum it ends at the last rung up to which nobody
    missed it. Rungs at which no walk ends are left out. The walk of each delta is a test of its own: look at one of
    them, or split 1 - confidence among them.

    Attributes
    ----------
    points : array of shape (rungs, d)
    n_agree : array of int, shape (rungs,)
        Members that agree at each rung.
    n_least : array of int, shape (rungs,)
        The fewest that agree at this rung or a safer one, strictly falling: the largest quorum whose walk ends here.

    Examples
    --------
    >>> ladder = Ladder.walked(np.array([[9.0], [5.0], [4.0], [2.0]]), np.array([38, 36, 37, 30]), least=20)
    >>> ladder.points.ravel(), ladder.n_agree, ladder.n_least
    (array([9., 4., 2.]), array([38, 37, 30]), array([38, 36, 30]))
    >>> [ladder.place(quorum) for quorum in (39, 38, 37, 36, 20)]
    [None, 0, 0, 1, 2]
    """

    points: FloatArray
    n_agree: IntArray
    n_least: IntArray

    @classmethod
    def none(cls, n_features: int) -> "Ladder":
        """Give a ladder without any rung."""
        nobody = np.zeros(0, dtype=np.intp)
        return cls(np.zeros((0, n_features)), nobody, nobody)

    @classmethod
    def walked(cls, points: FloatArray, votes: IntArray, least: int) -> "Ladder":
        """Keep the rungs at which some walk ends.

        Parameters
        ----------
        points : array of shape (rungs, d)
            The rungs that were put to the vote, safest first.
        votes : array of int, shape (rungs,)
        least : int
            The lowest quorum to keep an answer for.
        """
        so_far = np.minimum.accumulate(votes) if len(votes) else votes
        kept = np.flatnonzero((so_far >= least) & (np.append(so_far[1:], -1) < so_far))
        return cls(points[kept], votes[kept], so_far[kept])

    def __len__(self) -> int:
        return len(self.points)

    def place(self, quorum: int) -> int | None:
        """Say at which rung the walk for a quorum ends; None if it misses the safest one already."""
        passed = int(np.count_nonzero(self.n_least >= quorum))
        return passed - 1 if passed else None


def least_quorum(guarantee: Guarantee, n_models: int) -> int:
    """Give the lowest quorum for which an answer is recorded.

    Examples
    --------
    >>> least_quorum(Guarantee(delta=0.9, confidence=0.95), 103)
    61
    """
    return replace(guarantee, delta=min(guarantee.delta, LEAST_DELTA)).quorum(n_models)
