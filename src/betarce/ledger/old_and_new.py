"""The explained model of a run beside a new one: on which training rows and promises do they disagree?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray
from betarce.errors import BetarceError
from betarce.ledger.disagreement import Disagreement, chances, regions_of, rows_of
from betarce.ledger.promises import Promise
from betarce.ledger.scoring import FeaturesOf, accepted_classes, by_features
from betarce.ledger.table_for_model import table_for
from betarce.robustify import BetaRCE


def where_models_differ(run: BetaRCE, model: Any, promises: Sequence[Promise], labels: AnyArray) -> Disagreement:
    """Compare a new model with that of the run on its training rows, and on the promises of the same columns.

    Parameters
    ----------
    run : BetaRCE
    model : classifier
        The new one; it must be able to take the columns of the run.
    promises : sequence of Promise
        Those that both can score.
    labels : array
        What the new model answers on the training rows.
    """
    points, features = run.subject_.points, run.features_
    differs = labels != np.asarray(run.model_.predict(features.decode(points)))
    regions = regions_of(points, differs, features)
    rows = _fallen(run, model, promises) if promises and hasattr(model, "classes_") else ()
    return Disagreement("training rows", len(points), float(differs.mean()), regions, rows)


def where_promises_break(
    promises: Sequence[Promise], broken: BoolArray, features_of: FeaturesOf
) -> Disagreement | None:
    """Say where promises break, for scores that come without a model; None if none breaks, or none can be compared."""
    groups = by_features(promises)
    if not groups:
        return None
    digest, rows = max(groups.items(), key=lambda group: len(group[1]))
    points: FloatArray = np.array([promises[i].point for i in rows], dtype=np.float64)
    regions = regions_of(points, broken[rows], features_of(digest))
    return Disagreement("promises", len(rows), float(broken[rows].mean()), regions)


def _fallen(run: BetaRCE, model: Any, promises: Sequence[Promise]) -> tuple[str, ...]:
    points: FloatArray = np.array([promise.point for promise in promises], dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != len(run.features_):
        return ()  # promised in tables of several kinds
    try:
        table = run.features_.decode(points)
    except (BetarceError, IndexError):
        return ()
    before, after = (_chances(each, table_for(each, table), promises) for each in (run.model_, model))
    return rows_of([promise.name for promise in promises], before, after)


def _chances(model: Any, table: Any, promises: Sequence[Promise]) -> FloatArray:
    return chances(model, table, accepted_classes([promise.target for promise in promises], list(model.classes_)))
