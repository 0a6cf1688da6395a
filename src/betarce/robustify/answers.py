"""What to tell each row: the certified point, or why there is none."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.explainers import Explained
from betarce.features import FeatureSpace
from betarce.posterior import Certificate
from betarce.robustify.certify import Walk, plain
from betarce.robustify.result import RobustCounterfactual, Status
from betarce.robustify.steer import Task
from betarce.search import Ladders

_INFEASIBLE = "The rules of `features` leave nothing to change for this row."
_SPENT = (
    "No candidate was met within the evaluation budget. Raise `max_evaluations` of the search, or lower `delta` or "
    "`confidence`."
)
_NOTHING = (
    "No candidate was met in the whole allowed box. Loosen `features`, lower `delta` or `confidence`, or check whether "
    "any training row gets the target class under most retrained models."
)


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows of one call.

    Attributes
    ----------
    originals : array of shape (n, d)
    names : Index
        What the rows are called.
    task : Task
        Where each starts, what it wants, where it may go.
    based : Explained
        The base counterfactuals.
    """

    originals: FloatArray
    names: "pd.Index[Any]"
    task: Task
    based: Explained

    @property
    def targets(self) -> AnyArray:
        """The class that each row wants."""
        return self.task.targets

    @property
    def frozen(self) -> BoolArray:
        """The rows that cannot move at all."""
        return np.asarray((self.task.box.lower >= self.task.box.upper).all(axis=1))

    @property
    def searchable(self) -> IntArray:
        """The rows that have a base and room to move."""
        return np.flatnonzero(self.based.found & ~self.frozen)


def answers(
    batch: Batch,
    ladders: Ladders,
    walks: Sequence[Walk],
    features: FeatureSpace,
    certificate: Callable[[FloatArray, Any, int], Certificate],
) -> list[RobustCounterfactual]:
    """Turn walks into answers: the last rung that each row passed, with its certificate."""
    frozen = batch.frozen
    items = []
    for i, walk in enumerate(walks):
        rungs = ladders.points[i, ladders.exists[i]]
        # The last rung passed; where none was, the safest one, to say how far it got.
        at = max(walk.passed - 1, 0)
        vote = certificate(rungs[at], batch.targets[i], int(walk.votes[at])) if len(rungs) else None
        status, reason = _outcome(batch, i, bool(frozen[i]), walk, bool(ladders.spent[i]), vote)
        point = rungs[at] if status == "certified" else None
        items.append(_item(batch, i, point, status, reason, vote, int(ladders.n_evaluations[i]), features))
    return items


def _outcome(
    batch: Batch, i: int, frozen: bool, walk: Walk, spent: bool, vote: Certificate | None
) -> tuple[Status, str]:
    if frozen:
        return "infeasible", _INFEASIBLE
    if not batch.based.found[i]:
        return "base-not-found", batch.based.reasons[i]
    if vote is None:
        return ("budget-spent", _SPENT) if spent else ("not-found", _NOTHING)
    if not walk.passed:
        return "not-found", (
            f"Even the safest candidate did not pass: {vote}. More `n_models`, a lower `delta` or fewer rules in "
            "`features` may help; see the ConstantMembers warning of `fit`, if there was one."
        )
    return "certified", ""


def _item(
    batch: Batch,
    i: int,
    point: FloatArray | None,
    status: Status,
    reason: str,
    vote: Certificate | None,
    n_evaluations: int,
    features: FeatureSpace,
) -> RobustCounterfactual:
    name, original, base = batch.names[i], batch.originals[i], batch.based.points[i]
    return RobustCounterfactual(
        original=as_row(original, name, features),
        base=as_row(base, name, features) if batch.based.found[i] else None,
        robust=None if point is None else as_row(point, name, features),
        target=plain(batch.targets[i]),
        status=status,
        reason=reason,
        certificate=vote,
        distance_to_base=np.nan if point is None else float(features.distance(point, base)),
        distance_to_original=np.nan if point is None else float(features.distance(point, original)),
        n_evaluations=int(batch.based.n_evaluations[i]) + n_evaluations,
    )


def as_row(point: FloatArray, name: Hashable, features: FeatureSpace) -> Any:
    """Turn one point into a row of the user's own kind: a Series, or a flat array."""
    table = features.decode(point[None])
    if not isinstance(table, pd.DataFrame):
        return table[0]
    # A Series has one dtype; as objects, integers stay integers.
    values = {column: table[column].iloc[0] for column in table.columns}
    return pd.Series(values, name=name, dtype=None if len(set(features.dtypes)) == 1 else object)
