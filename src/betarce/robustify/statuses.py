"""What to tell each row: the certified point, or why there is none."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.ensemble import Ensemble
from betarce.features import FeatureSpace
from betarce.posterior import Certificate
from betarce.results.counterfactual import RobustCounterfactual, Status
from betarce.results.ladder import Ladder, least_quorum
from betarce.robustify.batch import ALREADY_THERE, Batch
from betarce.robustify.certify import Walk
from betarce.search import Ladders
from betarce.targets import named

_SPENT = (
    "No candidate was met within the evaluation budget. Raise `max_evaluations` of the search, or lower `delta` or "
    "`confidence`."
)
_NOTHING = (
    "No candidate was met in the whole allowed box. Loosen `features`, lower `delta` or `confidence`, or check whether "
    "any training row gets the target class under most retrained models."
)

_NOT_VARIED = (
    "All members are the same model, so their votes say nothing about retraining. Declare a space that changes the "
    "model, such as betarce.Bootstrap()."
)


def answers(
    batch: Batch,
    ladders: Ladders,
    walks: Sequence[Walk],
    features: FeatureSpace,
    certificate: Callable[[FloatArray, BoolArray, int], Certificate],
    members: Ensemble,
) -> list[RobustCounterfactual]:
    """Turn walks into answers: the last rung that each row passed, with its certificate."""
    classes, base_votes = members.classes, _votes_on_bases(batch, members)
    infeasible = batch.infeasible
    items = []
    for i, walk in enumerate(walks):
        rungs = ladders.points[i, ladders.exists[i]]
        # The last rung passed; where none was, the safest one, to say how far it got.
        at = max(walk.passed - 1, 0)
        point = rungs[at] if len(rungs) else None
        votes = tuple(walk.agree[at].tolist()) if len(rungs) else ()
        vote = None if point is None else certificate(point, batch.targets[i], sum(votes))
        status, reason = _outcome(batch, i, infeasible[i], walk, bool(ladders.spent[i]), vote)
        base = batch.based.points[i] if batch.based.found[i] else None
        robust = point if status == "certified" else None
        items.append(
            RobustCounterfactual(
                name=batch.names[i],
                target=named(batch.targets[i], classes),
                status=status,
                reason=reason,
                note=batch.notes[i],
                certificate=vote,
                votes=votes,
                distance_to_base=_distance(robust, base, features),
                distance_to_original=_distance(robust, batch.originals[i], features),
                n_evaluations=int(batch.based.n_evaluations[i]) + int(ladders.n_evaluations[i]),
                features=features,
                points={"original": batch.originals[i], "base": base, "robust": robust},
                base_agree=None if vote is None else base_votes[i],
                ladder=_ladder(rungs, walk, vote),
            )
        )
    return items


def _ladder(rungs: FloatArray, walk: Walk, vote: Certificate | None) -> Ladder:
    """Keep what other deltas would have handed out; votes of members that are all the same model say nothing."""
    if vote is None or not vote.varied:
        return Ladder.none(rungs.shape[1])
    return Ladder.walked(rungs[: len(walk.agree)], walk.votes, least_quorum(vote.guarantee, vote.n_models))


def _votes_on_bases(batch: Batch, members: Ensemble) -> list[int | None]:
    """Count the members that agree with each base, which was chosen without them; None where there is none."""
    votes: list[int | None] = [None] * len(batch.names)
    rows = np.flatnonzero(batch.based.found & ~batch.there)
    if rows.size:
        for row, n_agree in zip(rows, members.votes(batch.based.points[rows], batch.targets[rows]), strict=True):
            votes[row] = int(n_agree)
    return votes


def _distance(point: FloatArray | None, other: FloatArray | None, features: FeatureSpace) -> float:
    return np.nan if point is None or other is None else float(features.distance(point, other))


def unreadable(name: Hashable, reason: str, features: FeatureSpace) -> RobustCounterfactual:
    """Give the answer of a row that holds a value which the training table does not know."""
    return RobustCounterfactual(
        name=name,
        target=None,
        status="unreadable",
        reason=reason,
        note="",
        certificate=None,
        votes=(),
        distance_to_base=np.nan,
        distance_to_original=np.nan,
        n_evaluations=0,
        features=features,
        points={"original": None, "base": None, "robust": None},
    )


def _outcome(
    batch: Batch, i: int, infeasible: str, walk: Walk, spent: bool, vote: Certificate | None
) -> tuple[Status, str]:
    if batch.there[i]:
        return "already-there", ALREADY_THERE
    if infeasible:
        return "infeasible", infeasible
    if batch.post_hoc and not batch.based.found[i]:
        return "base-not-found", batch.based.reasons[i]
    if vote is None:
        return ("budget-spent", _SPENT) if spent else ("not-found", _NOTHING)
    if not walk.passed:
        return "not-found", (
            f"Even the safest candidate did not pass: {vote}. More `n_models`, a lower `delta` or fewer rules in "
            "`features` may help; see the ConstantMembers warning of `fit`, if there was one."
        )
    if not vote.certified:
        return "not-varied", f"{_NOT_VARIED} {vote}."
    return "certified", ""
