"""How far a model departs from what most members of a run answer, where it does so most."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble import Ensemble
from betarce.ledger.table_for_model import table_for
from betarce.robustify import BetaRCE
from betarce.seeding import generator

_MOST_ROWS = 2000
_MOST_CENTRES = 500
_NEIGHBOURHOOD = 0.2


def labels_on_training_rows(run: BetaRCE, model: Any) -> AnyArray:
    """Give what a model answers on the training rows of a run; it must be able to take their columns."""
    table = run.features_.decode(run.subject_.points)
    return np.asarray(model.predict(table_for(model, table)))


@dataclass(frozen=True, eq=False)
class Departures:
    """How far models depart from what most certifying members of a run answer, where they do so most.

    Models are compared on training rows, 2,000 at most, in neighbourhoods of a fifth of them. The departure of a model
    is the share of a neighbourhood on which it differs from most certifying members, less the share of certifying
    members that do so there; the largest of all neighbourhoods counts. So answers that members dispute, too, count
    little, and a change that is confined to a region counts as much as one that is everywhere.

    Parameters
    ----------
    run : BetaRCE

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> rce = BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(6, 18), random_state=0).fit(X, y)
    >>> departures = Departures(rce)
    >>> departures.of_labels(rce.model_.predict(X)) < 0.5 < departures.of_labels(1 - rce.model_.predict(X))
    True
    """

    run: BetaRCE

    def of_labels(self, labels: AnyArray) -> float:
        """Give the departure of a model by what it answers on all training rows."""
        return float(self._largest((np.asarray(labels)[self._rows] != self._usual)[:, None])[0])

    def of_members(self, members: Ensemble) -> FloatArray:
        """Give the departure of each member of an ensemble, none of them a certifying one."""
        return self._largest(members.labels(self._points) != self._usual[:, None])

    def _largest(self, departs: BoolArray) -> FloatArray:
        # Counted, not averaged: equal counts must be equal.
        counts = self._neighbourhoods @ departs.astype(np.float64)
        return np.asarray((counts - self._dissent[:, None]).max(axis=0) / self._size)

    @cached_property
    def _rows(self) -> IntArray:
        """The training rows that are compared, the centres of neighbourhoods first."""
        order: IntArray = generator(self.run.seed_, "departure").permutation(len(self.run.subject_.points))
        return order[:_MOST_ROWS]

    @cached_property
    def _points(self) -> FloatArray:
        return self.run.subject_.points[self._rows]

    @cached_property
    def _labels(self) -> AnyArray:
        return self.run.members_.voters.labels(self._points)

    @cached_property
    def _usual(self) -> AnyArray:
        """The label that most certifying members answer for each row; of equally frequent ones, the first."""
        classes = self.run.members_.voters.classes
        counts = np.stack([(self._labels == label).sum(axis=1) for label in classes], axis=1)
        return np.asarray(classes[counts.argmax(axis=1)])

    @cached_property
    def _dissent(self) -> FloatArray:
        """How many rows of each neighbourhood a certifying member usually answers otherwise."""
        return np.asarray(self._neighbourhoods @ (self._labels != self._usual[:, None]).mean(axis=1))

    @property
    def _size(self) -> int:
        return max(1, round(_NEIGHBOURHOOD * len(self._points)))

    @cached_property
    def _neighbourhoods(self) -> FloatArray:
        """The rows that are nearest to each of the first ones: 1 for those, 0 for all others."""
        near = np.zeros((min(_MOST_CENTRES, len(self._points)), len(self._points)))
        for centre, row in zip(self._points, near, strict=False):
            row[np.argsort(self.run.features_.distance(centre, self._points), kind="stable")[: self._size]] = 1.0
        return near
