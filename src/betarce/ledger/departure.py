"""How far a model departs from what most members of a run answer."""

from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble import Ensemble
from betarce.ledger.table_for_model import table_for
from betarce.robustify import BetaRCE
from betarce.seeding import generator

_MOST_ROWS = 2000


def departures(run: BetaRCE, model: Any, audit: Ensemble) -> tuple[float, FloatArray]:
    """Give the share of training rows on which a new model, and each audit member, differs from most voting members.

    The certifying members are independent of the new model and of the audit members alike. So if the new model comes
    from the declared space, its share is one of the shares of the audit members in random order.

    Parameters
    ----------
    run : BetaRCE
    model : classifier
        The new one; it must be able to take the columns of the run.
    audit : Ensemble
        The audit members of the run.
    """
    points = rows_to_compare(run)
    usual = _most_frequent(run.members_.voters, points)
    table = run.features_.decode(points)
    answers = np.asarray(model.predict(table_for(model, table)))
    return float((answers != usual).mean()), np.asarray((audit.labels(points) != usual[:, None]).mean(axis=0))


def rows_to_compare(run: BetaRCE) -> FloatArray:
    """Give the training rows of a run, or some of them, drawn at random, if they are many."""
    points = run.subject_.points
    if len(points) <= _MOST_ROWS:
        return points
    return points[np.sort(generator(run.seed_, "departure").permutation(len(points))[:_MOST_ROWS])]


def _most_frequent(members: Ensemble, points: FloatArray) -> Any:
    """Give the label that most members answer at each point; of equally frequent ones, the first."""
    labels = members.labels(points)
    counts = np.stack([(labels == label).sum(axis=1) for label in members.classes], axis=1)
    return members.classes[counts.argmax(axis=1)]
