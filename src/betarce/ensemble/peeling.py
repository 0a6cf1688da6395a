"""A fitted model taken apart: what decides, what stands before it, and where its label turns."""

from dataclasses import dataclass
from typing import Any

from betarce.ensemble.front import Front, read_front
from betarce.ensemble.steps import Unreadable
from betarce.ensemble.thresholds import Threshold, read_threshold
from betarce.ensemble.witness import Witness


@dataclass(frozen=True, eq=False)
class Peeled:
    """A fitted model without its wrappings.

    Attributes
    ----------
    core : object
        The estimator that decides.
    front : Front or None
        What stands before it; None where it sees the point as it is.
    threshold : Threshold or None
        Where its label turns, if not at even odds.
    readable : bool
        Whether all that stands before it is known. If not, no kernel may have it.
    """

    core: Any
    front: Front | None = None
    threshold: Threshold | None = None
    readable: bool = True

    @property
    def turn(self) -> float | None:
        """The score at which the label turns; None if a kernel cannot say."""
        return 0.0 if self.threshold is None else self.threshold.offset(self.core)


def unwrap(model: Any) -> tuple[Any, list[Any], Threshold | None]:
    """Take off frozen wrappers, validation splits, thresholds and pipelines.

    Returns
    -------
    core : estimator
    steps : list of fitted transformers
    threshold : Threshold or None

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> unwrap(make_pipeline(MinMaxScaler(), LogisticRegression()).fit([[0.0], [4.0]], [0, 1]))
    (LogisticRegression(), [MinMaxScaler()], None)
    """
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    from betarce.models.validation import ValidationSplit

    # Exact types only: a subclass may predict in its own way.
    if type(model) is FrozenEstimator:
        return unwrap(model.estimator)
    if type(model) is ValidationSplit:
        return unwrap(model.estimator_)
    if (turned := read_threshold(model)) is not None:
        core, steps, _ = unwrap(turned[0])
        # An inner threshold does not count: the outer one is set on the response, not on the label.
        return core, steps, turned[1]
    if type(model) is Pipeline and len(model.steps) > 0:
        core, steps, threshold = unwrap(model.steps[-1][1])
        return core, [step for _, step in model.steps[:-1]] + steps, threshold
    return model, [], None


def peel(model: object, witness: Witness) -> Peeled:
    """Take a model apart.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> witness = Witness.of_numbers(1, np.asarray, None)
    >>> model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit([[0.0], [4.0]], [0, 1])
    >>> peel(model, witness).front.transform(np.array([[3.0]]))
    array([[0.75]])
    """
    core, steps, threshold = unwrap(model)
    # HistGradientBoosting encodes its categories itself, and sorts its columns by it.
    encodes = getattr(core, "_preprocessor", None) is not None
    if not hasattr(core, "classes_") or (witness.is_plain and not steps and not encodes):
        return Peeled(core, threshold=threshold)
    try:
        return Peeled(core, read_front(steps, core, witness), threshold)
    except Unreadable:
        return Peeled(core, threshold=threshold, readable=False)
