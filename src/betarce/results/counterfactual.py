"""The answer for one row: a certified counterfactual, or why there is none."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray
from betarce.errors import InvalidInput, UnreachableGuarantee
from betarce.features import FeatureSpace, Rule
from betarce.posterior import Certificate, Guarantee
from betarce.results.frames import changes
from betarce.results.html import item_html
from betarce.results.ladder import LEAST_DELTA, Ladder
from betarce.results.plots import draw_changes

Status = Literal[
    "certified",
    "already-there",
    "unreadable",
    "not-varied",
    "base-not-found",
    "not-found",
    "infeasible",
    "budget-spent",
]
Which = Literal["original", "base", "robust"]


@dataclass(frozen=True, eq=False)
class RobustCounterfactual:
    """The answer for one row, in the user's own units and types.

    Attributes
    ----------
    name : hashable
        What the row is called in its table.
    target : label or list of labels
        The class asked for, or all that were accepted.
    status : str
        "certified", "already-there" (the model gives the target class now), "unreadable" (a value that the training
        table does not know), "not-varied" (all members are the same model), "base-not-found", "not-found", "infeasible"
        or "budget-spent".
    reason : str
        Why there is no certified point, in a sentence; "" if there is one.
    note : str
        What else should be known, such as a base that broke a rule.
    certificate : Certificate or None
        The vote on the point found, also where it fell short.
    votes : tuple of bool
        Which of the voting members agree, in their order; empty without a vote.
    distance_to_base, distance_to_original : float
        L1, every feature in units of its training range; NaN without a certified point.
    n_evaluations : int
        Points that were evaluated for this row.
    runtime_s : float
        This row's share of the batch's time.
    base_agree : int or None
        How many of the voting members agree with the base: what people would be told without this package, and how
        often it fails. None without a base or a vote.
    features : FeatureSpace
        How points become rows of the user's table.
    points : mapping
        "original", "base" and "robust" as rows of floats; None where there is none.
    overrides : mapping of column to rule
        What held for this row instead of the rules of `features`.
    ladder : Ladder
        The points that would have been handed out at other deltas; see `at`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> rce = BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(6, 18), random_state=0).fit(X, y)
    >>> answer = rce.explain(X[y == 0][:1], target=1)[0]
    >>> answer.status, answer.reason
    ('certified', '')
    >>> print(answer.certificate)
    17 of 18 fresh models agree: valid for >= 80 % with 90 % confidence
    >>> answer.at(0.5).shape
    (2,)
    """

    name: Hashable
    target: Any
    status: Status
    reason: str
    note: str
    certificate: Certificate | None
    votes: tuple[bool, ...]
    distance_to_base: float
    distance_to_original: float
    n_evaluations: int
    features: FeatureSpace
    points: Mapping[Which, FloatArray | None]
    runtime_s: float = np.nan
    base_agree: int | None = None
    overrides: Mapping[Any, Rule] = field(default_factory=dict)
    ladder: Ladder = field(default_factory=lambda: Ladder.none(0))

    def __repr__(self) -> str:
        return f"RobustCounterfactual({self.status}: {self.reason or self.certificate})"

    @property
    def original(self) -> Any:
        """The instance that was explained: a Series, a dict (polars) or an array."""
        return self._row("original")

    @property
    def base(self) -> Any:
        """The base counterfactual, moved to where the rules allow it.

        With `base=None` it is the closest plain one: what people would be told without regard to retraining.
        """
        return self._row("base")

    @property
    def robust(self) -> Any:
        """The certified counterfactual; None if there is none."""
        return self._row("robust")

    def _row(self, which: Which) -> Any:
        point = self.points[which]
        return None if point is None else self.features.row(point, self.name)

    def at(self, delta: float) -> Any:
        """Give the point that would have been handed out at another delta, 0.5 at least; None if none passes it.

        The walk of each delta is a test of its own: look at one of them, or split 1 - confidence among them.

        Parameters
        ----------
        delta : float
            The least share of retrained models under which the point must keep its class.

        Returns
        -------
        Series, dict or array
            As `robust`, which is the point at the delta that was asked for.
        """
        given = Guarantee() if self.certificate is None else self.certificate.guarantee
        asked, lowest = replace(given, delta=delta), min(LEAST_DELTA, given.delta)
        if delta < lowest:
            raise InvalidInput(f"`delta` must be at least {lowest:g}: no lower answer is recorded; got {delta!r}.")
        if self.certificate is None:
            return None
        try:
            place = self.ladder.place(asked.quorum(self.certificate.n_models))
        except UnreachableGuarantee:
            return None
        return None if place is None else self.features.row(self.ladder.points[place], self.name)

    def changes(self) -> pd.DataFrame:
        """Show what to change: one line per feature that differs, in original units.

        Returns
        -------
        DataFrame
            Columns "feature", "from", "base" and "to"; empty without a certified point.
        """
        return changes([self]).drop(columns="row")

    def plot(self, ax: Any = None) -> Any:
        """Draw what to change: original, base and robust value of every feature that differs.

        Numbers lie on the range of the training table; categories are written out, from what is to what should be.
        Of more than 30 features that differ, the 30 largest changes are drawn.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new ones of a fitting size by default.

        Returns
        -------
        matplotlib axes
            Without a certified point, they say why there is none.
        """
        return draw_changes(self, ax)

    def _repr_html_(self) -> str:
        return item_html(self)
