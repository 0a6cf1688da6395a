"""Decision thresholds other than even odds: where a two-class member's label turns."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.foreign import lightgbm

# Probabilities may come in float32, and a threshold is rounded to the same: both are off by this much, relatively.
_UNIT = float(np.finfo(np.float32).eps)
_EXTREME = 1e-5  # closer to 0 or 1, a threshold is lost in what kernels clip


@dataclass(frozen=True)
class Threshold:
    """A label that turns where a response reaches a level.

    Attributes
    ----------
    response : str
        "predict_proba" or "decision_function".
    level : float
        What the response must reach.
    positive : int
        The code of the class answered there: 0 or 1.

    Examples
    --------
    >>> Threshold("predict_proba", 0.5, positive=1).lead(np.array([0.5, 0.9]))
    array([0.        , 2.19722458])
    """

    response: str
    level: float
    positive: int

    def lead(self, response: FloatArray, least: float = 1e-9) -> FloatArray:
        """Say by how much `classes[1]` leads, given the response of the positive class: log-odds, or as it is."""
        if self.response == "predict_proba":
            p, level = (np.clip(value, least, 1 - least) for value in (response, self.level))
            ahead = np.log(p) - np.log1p(-p) - (np.log(level) - np.log1p(-level))
        else:
            ahead = response - self.level
        return np.asarray(ahead if self.positive == 1 else -ahead)

    def offset(self, core: Any) -> float | None:
        """Give the score at which a kernel of this estimator must turn; None if its scores cannot say."""
        sign = 1 if self.positive == 1 else -1
        name = type(core).__name__
        if self.response == "decision_function":
            return sign * score_per_decision(core) * self.level
        # A multinomial model of two classes has twice its decision function as log-odds (before scikit-learn 1.8).
        odd = getattr(core, "multi_class", None) == "multinomial"
        if name == "SGDClassifier":
            odd = core.loss != "log_loss"
        if odd or not _EXTREME < self.level < 1 - _EXTREME:
            return None
        return sign * float(np.log(self.level) - np.log1p(-self.level))

    @property
    def blur(self) -> float:
        """How uncertain the turning point is on the scale of the scores, because of rounding."""
        if self.response == "decision_function":
            return 4 * _UNIT * abs(self.level)
        return 8 * _UNIT / (self.level * (1 - self.level))


def score_per_decision(core: Any) -> float:
    """Give the score of a kernel that one unit of an estimator's decision function stands for.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> score_per_decision(GradientBoostingClassifier(loss="exponential"))
    2.0
    """
    if type(core).__name__ == "LGBMClassifier":
        return lightgbm.odds_per_decision(core)
    # The exponential loss works with half the log-odds that the kernel speaks of.
    return 2.0 if getattr(core, "loss", "") == "exponential" else 1.0
