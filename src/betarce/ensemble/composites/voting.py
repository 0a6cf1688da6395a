"""Voting classifiers: the weighted mean of probabilities, or the weighted count of labels."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.composites.combination import Scored
from betarce.ensemble.intervals import Interval, scored

_FLAT = 1e-9
_TIE = 1e-9  # by how much the first of several equal counts is put ahead


@dataclass(frozen=True, eq=False)
class Voting:
    """How one member counts the votes of its parts; see `Combination`.

    Attributes
    ----------
    soft : bool
        Whether probabilities are averaged, or labels counted.
    weights : array of float, shape (voters,)
    n_classes : int
    final : None
        The member itself gives the scores.
    """

    soft: bool
    weights: FloatArray
    n_classes: int
    final: object | None = None

    @property
    def shape(self) -> Hashable:
        """The way of counting, and the number of voters."""
        return ("voting", self.soft, len(self.weights), self.n_classes)

    def stacked(self, members: Sequence["Voting"], unit: float) -> "SoftVoting | HardVoting":
        """Stack the weights of all members."""
        weights = np.stack([each.weights for each in members], axis=1)[:, :, np.newaxis]
        return SoftVoting(weights, unit) if self.soft else HardVoting(weights, self.n_classes)


@dataclass(frozen=True, eq=False)
class SoftVoting:
    """Weighted mean probabilities of many members; `weights` has shape (voters, members, 1). See `Combiner`."""

    weights: FloatArray
    unit: float

    gives_probabilities = True
    is_smooth = True

    def scored(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Scored:
        """Give scores and doubt; see `Combiner`."""
        return scored(self.probabilities(answers, X, members))

    def probabilities(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Interval:
        """Give the weighted mean."""
        weights = self._shares()[:, members]
        low = sum(weight * answer.low for weight, answer in zip(weights, answers, strict=True))
        high = sum(weight * answer.high for weight, answer in zip(weights, answers, strict=True))
        return Interval(np.asarray(low), np.asarray(high)).widened(self.unit)

    def gradients(self, answers: Sequence[FloatArray]) -> list[FloatArray]:
        """Give the gradient of the log-odds in each voter's probability."""
        weights = self._shares()
        mean = np.asarray(sum(weight * answer for weight, answer in zip(weights, answers, strict=True)))
        spread = np.maximum(mean * (1 - mean), _FLAT)
        return [weight / spread for weight in weights]

    def slopes(self, X: FloatArray, weights: FloatArray) -> float:
        """Give zero: only the answers depend on the points."""
        return 0.0

    def _shares(self) -> FloatArray:
        return np.asarray(self.weights / self.weights.sum(axis=0))


@dataclass(frozen=True, eq=False)
class HardVoting:
    """Weighted counts of labels of many members; `weights` has shape (voters, members, 1). See `Combiner`."""

    weights: FloatArray
    n_classes: int

    gives_probabilities = False
    is_smooth = False

    def scored(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Scored:
        """Give the lead in votes; of equal counts, the first class wins."""
        weights = self.weights[:, members]
        labels = [answer.low[..., 0] for answer in answers]
        votes = [_counted(labels, weights[..., 0], code) for code in range(self.n_classes)]
        total = weights.sum(axis=0)
        unknown = np.isnan(labels[0])
        for each in labels[1:]:
            unknown |= np.isnan(each)
        if self.n_classes == 2:
            lead = votes[1] - votes[0]
            scores = lead / total[:, 0]
            scores[lead == 0] = -_TIE
        else:
            scores = np.stack(votes, axis=-1)
            first = scores.argmax(axis=-1)[..., np.newaxis]
            np.put_along_axis(scores, first, np.take_along_axis(scores, first, axis=-1) + _TIE * total, axis=-1)
            scores /= total
        scores[unknown] = np.nan
        return scores, np.zeros(unknown.shape)

    def probabilities(self, answers: Sequence[Interval], X: FloatArray, members: slice) -> Interval:
        """Refuse: labels have no probabilities."""
        raise NotImplementedError("votes by label have no probabilities; see `gives_probabilities`")

    def gradients(self, answers: Sequence[FloatArray]) -> list[FloatArray]:
        """Refuse: labels have no gradient."""
        raise NotImplementedError("votes by label have no gradient; see `is_smooth`")

    def slopes(self, X: FloatArray, weights: FloatArray) -> float:
        """Refuse: labels have no gradient."""
        raise NotImplementedError("votes by label have no gradient; see `is_smooth`")


def _counted(labels: Sequence[FloatArray], weights: FloatArray, code: int) -> FloatArray:
    """Add up the weights of the voters for a class in their order, as `bincount` does: ties are ties to the bit."""
    votes = (labels[0] == code) * weights[0]
    for label, weight in zip(labels[1:], weights[1:], strict=True):
        votes += (label == code) * weight
    return np.asarray(votes)
