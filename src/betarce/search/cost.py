"""The cost of a change: a weighted distance plus a price per changed feature."""

from dataclasses import dataclass

import numpy as np

from betarce.arrays import FloatArray
from betarce.features import FeatureSpace


@dataclass(frozen=True, eq=False)
class Cost:
    """A mixture of L1 and L2 over weighted features, plus a small price for each that changes.

    Attributes
    ----------
    features : FeatureSpace
        Holds the weight of each feature.
    share : float
        The share of L2 in the distance; the rest is L1.
    price : float
        For each changed feature, in units of L1: the extra distance that is accepted to leave one feature unchanged.

    Examples
    --------
    >>> features = FeatureSpace.infer(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> cost = Cost(features, share=0.0, price=0.01)
    >>> cost(np.array([[0.5, 0.0], [0.25, 0.25]]), np.zeros((2, 2)))
    array([0.51, 0.52])
    """

    features: FeatureSpace
    share: float
    price: float

    @property
    def weight(self) -> FloatArray:
        """The cost of one unit of each feature."""
        return self.features.weight

    def __call__(self, points: FloatArray, bases: FloatArray) -> FloatArray:
        """Give the cost of each point relative to its base."""
        gaps = self.features.gaps(points, bases)
        weighed = gaps * self.weight
        total = self.price * (gaps > 0).sum(axis=-1)
        if self.share < 1:
            total = total + (1 - self.share) * weighed.sum(axis=-1)
        if self.share > 0:
            total = total + self.share * np.sqrt(np.square(weighed).sum(axis=-1))
        return np.asarray(total)
