"""A fitted model without its wrappers."""

from dataclasses import dataclass
from typing import Any

from betarce.ensemble.composites.combination import Combination
from betarce.ensemble.decision_threshold import DecisionThreshold
from betarce.ensemble.preprocessing.columns import Preprocessing
from betarce.ensemble.preprocessing.probe_points import ProbePoints


@dataclass(frozen=True, eq=False)
class UnwrappedModel:
    """A fitted model without its wrappers.

    Attributes
    ----------
    estimator : object
        The estimator that decides.
    preprocessing : Preprocessing or None
        What stands before it; None where it gets the point as it is, or is made of other models.
    threshold : DecisionThreshold or None
        The decision threshold, if it is not at even odds.
    reason : str
        Why no kernel can evaluate the model; empty if all preprocessing is known.
    parts : tuple of UnwrappedModel
        The models it is made of.
    methods : tuple of str
        The method that is called on each part, such as "predict_proba".
    combination : Combination or None
        How the answers of the parts are combined.
    probes : ProbePoints or None
        The points on which the preprocessing was checked.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> UnwrappedModel(LogisticRegression()).family
    'LogisticRegression'
    """

    estimator: Any
    preprocessing: Preprocessing | None = None
    threshold: DecisionThreshold | None = None
    reason: str = ""
    parts: tuple["UnwrappedModel", ...] = ()
    methods: tuple[str, ...] = ()
    combination: Combination | None = None
    probes: ProbePoints | None = None

    @property
    def score_threshold(self) -> float | None:
        """The score of a kernel above which the label is the second class; None if scores cannot say."""
        if self.threshold is None:
            return 0.0
        final = None if self.combination is None else self.combination.final
        return self.threshold.score(self.estimator if final is None else final)

    @property
    def family(self) -> str:
        """A name that members must share to be evaluated by one kernel."""
        name = type(self.estimator).__qualname__
        if self.combination is None:
            return name
        parts = zip(self.parts, self.methods, strict=True)
        return f"{name}{self.combination.shape}({', '.join(f'{part.family}.{method}' for part, method in parts)})"
