"""Decision thresholds of two-class members, other than even odds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.foreign import lightgbm

# Probabilities may come in float32, and a threshold is rounded to the same: both are off by this much, relatively.
_UNIT = float(np.finfo(np.float32).eps)
_EXTREME = 1e-5  # closer to 0 or 1, a threshold is lost in what kernels clip


@dataclass(frozen=True)
class DecisionThreshold:
    """The level that a response must reach for the positive class.

    Attributes
    ----------
    response : str
        "predict_proba" or "decision_function".
    level : float
        The threshold itself.
    positive : int
        The code of the positive class: 0 or 1.

    Examples
    --------
    >>> DecisionThreshold("predict_proba", 0.5, positive=1).lead(np.array([0.5, 0.9]))
    array([0.        , 2.19722458])
    """

    response: str
    level: float
    positive: int

    def lead(self, response: FloatArray, least: float = 1e-9) -> FloatArray:
        """Give the lead of `classes[1]` from the response of the positive class: in log-odds, or as it is."""
        if self.response == "predict_proba":
            p, level = (np.clip(value, least, 1 - least) for value in (response, self.level))
            ahead = np.log(p) - np.log1p(-p) - (np.log(level) - np.log1p(-level))
        else:
            ahead = response - self.level
        return np.asarray(ahead if self.positive == 1 else -ahead)

    def score(self, estimator: Any) -> float | None:
        """Give the threshold on the scores of a kernel of this estimator; None if its scores cannot say."""
        sign = 1 if self.positive == 1 else -1
        name = type(estimator).__name__
        if self.response == "decision_function":
            return sign * score_per_decision(estimator) * self.level
        # A multinomial model of two classes has twice its decision function as log-odds (before scikit-learn 1.8).
        odd = getattr(estimator, "multi_class", None) == "multinomial"
        if name == "SGDClassifier":
            odd = estimator.loss != "log_loss"
        if odd or not _EXTREME < self.level < 1 - _EXTREME:
            return None
        return sign * float(np.log(self.level) - np.log1p(-self.level))

    @property
    def rounding(self) -> float:
        """A bound on the rounding of the threshold, on the scale of the scores."""
        if self.response == "decision_function":
            return 4 * _UNIT * abs(self.level)
        return 8 * _UNIT / (self.level * (1 - self.level))


def score_per_decision(estimator: Any) -> float:
    """Give the score of a kernel that stands for one unit of an estimator's decision function.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> score_per_decision(GradientBoostingClassifier(loss="exponential"))
    2.0
    """
    if type(estimator).__name__ == "LGBMClassifier":
        return lightgbm.odds_per_decision(estimator)
    # The exponential loss works with half the log-odds that the kernel speaks of.
    return 2.0 if getattr(estimator, "loss", "") == "exponential" else 1.0
