"""Check that answers from a file could have been written by `explain`, whatever its digest says.

Everything that can be computed again is: distances, rules, votes, fingerprints, and whether values fit their dtypes.
What remains is what only the models know.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.errors import CorruptFile
from betarce.features import FeatureSpace, Rule
from betarce.features.plausible import survives
from betarce.features.rules.derived import Derived, LostFunction
from betarce.posterior import Certificate
from betarce.posterior.certificate_fields import fingerprint
from betarce.results.counterfactual import RobustCounterfactual, Which
from betarce.results.ladder import least_quorum

_TOLERANCE = 1e-9  # of a distance, and of a derived column, that another machine computed
_FINGERPRINT = re.compile("[0-9a-f]{16}")
_HAS_VOTE: Mapping[str, Literal["always", "maybe"]] = {
    "certified": "always",
    "not-varied": "always",
    "not-found": "maybe",
    "budget-spent": "maybe",
}
"""Statuses whose rows have a certificate; those of all others have none."""


def check_items(items: Sequence[RobustCounterfactual], features: FeatureSpace) -> None:
    """Refuse answers that contradict themselves or their features.

    Raises
    ------
    CorruptFile
        With the row and the reason.
    """
    for i, item in enumerate(items):
        _check_story(item, i)
        if item.certificate is not None:
            _check_vote(item, item.certificate, i)
        _check_ladder(item, i)
    _check_together(items)
    _check_dtypes(items, features)
    _check_rules(items, features)
    _check_distances(items, features)
    _check_same_points(items)


def _check_story(item: RobustCounterfactual, i: int) -> None:
    """Refuse a row whose status, reason and parts tell different stories."""
    certified = item.status == "certified"
    target = item.target if isinstance(item.target, list) else [item.target]
    # A row that could not be read has no point of its own; every other one has.
    _refuse(i, f"its status {item.status!r} does not fit its points", certified != (item.points["robust"] is not None))
    _refuse(i, "its original is missing", certified and item.points["original"] is None)
    _refuse(i, "its base is missing", certified and not _has(item, "base"))
    _refuse(i, "it has a base, but was not to have one", item.status == "base-not-found" and _has(item, "base"))
    _refuse(i, f"its reason {item.reason!r} does not fit its status", certified != (item.reason == ""))
    _refuse(i, f"no row wants {item.target!r}", not target or (None in target) != (item.status == "unreadable"))
    _refuse(i, "its certificate is missing", _vote_of(item) == "always" and item.certificate is None)
    _refuse(i, "its status allows no certificate", _vote_of(item) == "never" and item.certificate is not None)
    _refuse(i, "it has votes, but no certificate", item.certificate is None and bool(item.votes))
    _refuse(i, f"its evaluations are {item.n_evaluations}", item.n_evaluations < 0)
    counted = item.certificate is not None and _has(item, "base")
    _refuse(i, "votes on its base do not fit", (item.base_agree is not None) != counted)
    _refuse(i, f"its time is {item.runtime_s}", not (math.isnan(item.runtime_s) or 0 <= item.runtime_s < math.inf))


def _check_vote(item: RobustCounterfactual, vote: Certificate, i: int) -> None:
    counted = (sum(item.votes), len(item.votes))
    robust = item.points["robust"]
    _refuse(i, "its votes are not those of its certificate", counted != (vote.n_agree, vote.n_models))
    same = repr(vote.target) == repr(item.target)  # 1, 1.0 and True are three labels
    _refuse(i, f"its certificate is for {vote.target!r}, not for {item.target!r}", not same)
    _refuse(i, f"its certificate says {vote.certified}, its status {item.status!r}", vote.certified != _certified(item))
    base = item.base_agree
    _refuse(i, f"{base} members agree with its base", base is not None and not 0 <= base <= vote.n_models)
    _refuse(i, "its certificate names no space", not vote.space)
    _refuse(i, "its certificate names no point", not _FINGERPRINT.fullmatch(vote.point))
    _refuse(i, "its certificate is not for its point", robust is not None and vote.point != fingerprint(robust))


def _check_together(items: Sequence[RobustCounterfactual]) -> None:
    """Refuse rows of different calls: all rows of one have the same voters, guarantee and space."""
    terms = [
        (i, (vote.guarantee, vote.n_models, vote.members, vote.space))
        for i, item in enumerate(items)
        if (vote := item.certificate) is not None
    ]
    for i, each in terms:
        _refuse(i, f"its certificate is about another vote than that of row {terms[0][0]}", each != terms[0][1])
    wanted = [(i, label) for i, item in enumerate(items) if item.target is not None for label in _labels(item)]
    for i, label in wanted:
        first = wanted[0][1]
        _refuse(i, f"it wants {label!r}, another kind of class than {first!r}", type(label) is not type(first))


def _check_same_points(items: Sequence[RobustCounterfactual]) -> None:
    """Refuse two counts of votes at one point: all rows have the same members, who vote alike every time."""
    together: dict[tuple[str, str], tuple[int, tuple[bool, ...], int]] = {}
    for i, item in enumerate(items):
        vote, base = item.certificate, item.points["base"]
        counts = {fingerprint(point): int(n) for point, n in zip(item.ladder.points, item.ladder.n_agree, strict=True)}
        if vote is not None:
            counts[vote.point] = vote.n_agree
            if item.base_agree is not None and base is not None:
                n_agree = counts.get(fingerprint(base), item.base_agree)
                _refuse(i, f"{item.base_agree} and {n_agree} agree with its base", n_agree != item.base_agree)
        for point, n_agree in counts.items() if _certified(item) else ():
            votes = item.votes if vote is not None and vote.point == point else ()
            n_before, before, first = together.setdefault((repr(item.target), point), (n_agree, votes, i))
            other = n_agree != n_before or bool(votes and before and votes != before)
            _refuse(i, f"its members vote otherwise than in row {first} about the same point", other)


def check_record(items: Sequence[RobustCounterfactual], record: Mapping[str, str | int]) -> None:
    """Refuse a record of how answers were made that their certificates contradict; one that is empty says nothing."""
    if not record:
        return
    fresh = record["certify_on"] == "holdout"
    voters = record["certifying_members" if fresh else "search_members"]
    for i, item in enumerate(items):
        if (vote := item.certificate) is not None:
            _refuse(i, f"{vote.n_models} members voted, {voters} were there", vote.n_models != voters)
            _refuse(i, f"its space is {vote.space}, not {record['space']}", vote.space != record["space"])
            _refuse(i, f"its voters are not of {record['certify_on']!r}", (vote.members == "fresh") != fresh)


def _labels(item: RobustCounterfactual) -> list[object]:
    return item.target if isinstance(item.target, list) else [item.target]


def _check_ladder(item: RobustCounterfactual, i: int) -> None:
    """Refuse answers for other deltas that no walk of these members gives."""
    vote, ladder, robust = item.certificate, item.ladder, item.points["robust"]
    if vote is None or not vote.varied:
        _refuse(i, "it has a ladder, but no vote that says something", bool(len(ladder)))
        return
    lowest = least_quorum(vote.guarantee, vote.n_models)
    wrong = (ladder.n_least < lowest) | (ladder.n_agree < ladder.n_least) | (ladder.n_agree > vote.n_models)
    _refuse(i, "its ladder has votes that do not fit", bool(wrong.any() or (np.diff(ladder.n_least) >= 0).any()))
    place = ladder.place(vote.guarantee.quorum(vote.n_models))
    _refuse(i, "its ladder does not lead to its status", (place is not None) != (robust is not None))
    if place is None or robust is None:
        _refuse(i, "its ladder has more votes than its certificate", bool((ladder.n_least > vote.n_agree).any()))
        return
    other = item.features.differs(ladder.points[place], robust).any()
    _refuse(i, "its ladder leads to another point", bool(other or ladder.n_agree[place] != vote.n_agree))


def _check_dtypes(items: Sequence[RobustCounterfactual], features: FeatureSpace) -> None:
    """Refuse values that a table of the user's own dtypes cannot hold: 70.5 among whole numbers."""
    found = [
        (i, point)
        for i, item in enumerate(items)
        for point in (*item.points.values(), *item.ladder.points)
        if point is not None
    ]
    if not found:
        return
    points = np.array([point for _, point in found], dtype=np.float64)
    for k, j in np.argwhere(~survives(features, points)):
        _refuse(found[k][0], f"column {features.columns[j].title!r} cannot hold {points[k, j]}", True)


def _check_rules(items: Sequence[RobustCounterfactual], features: FeatureSpace) -> None:
    """Refuse points of ladders that break the rules of the file, or those of their own row."""
    for i, item in enumerate(items):
        for rule in item.overrides.values():
            _refuse(i, "its own rules compute a column", rule.part(Derived) is not None)
    rows = [i for i, item in enumerate(items) for _ in item.ladder.points]
    if not rows:
        return
    robust = np.array([point for item in items for point in item.ladder.points], dtype=np.float64)
    originals = np.array([items[i].points["original"] for i in rows], dtype=np.float64)
    box = features.box(originals, [items[i].overrides or None for i in rows])
    for i, conflict in zip(rows, box.conflicts, strict=True):
        _refuse(i, f"it has a robust point, but its rules collide: {conflict}", bool(conflict))
    for i, n in zip(rows, features.changes(robust, box).sum(axis=1), strict=True):
        most = features.max_changes
        _refuse(i, f"its robust point changes {n} columns, not {most} at most", most is not None and n > most)
    unlimited = replace(box, max_changes=None)
    broken = _without_derived(features).violations(robust, unlimited) | _derived_wrongly(features, robust, originals)
    for k, j in np.argwhere(broken):
        column = features.columns[j]
        _refuse(rows[k], f"its robust point breaks the rules: {column.title} is {column.show(robust[k, j])}", True)


def _without_derived(features: FeatureSpace) -> FeatureSpace:
    return replace(features, rules={name: rule.without(Derived) for name, rule in features.rules.items()})


def _derived_wrongly(features: FeatureSpace, robust: FloatArray, originals: FloatArray) -> BoolArray:
    """Say which derived columns differ from what their formula gives; functions that are lost cannot be asked."""
    known = {
        name: Rule.of(part)
        for name, rule in features.rules.items()
        if (part := rule.part(Derived)) is not None and not isinstance(part.function, LostFunction)
    }
    wrong = np.zeros(robust.shape, dtype=bool)
    if not known:
        return wrong
    asked = replace(features, rules=known)
    computed = asked.links.apply(robust.copy(), asked.unbounded(originals), asked)
    close = np.abs(computed - robust) <= _TOLERANCE * features.scale
    wrong[:, asked.links.derived_columns] = (features.differs(computed, robust) & ~close)[
        :, asked.links.derived_columns
    ]
    return wrong


def _check_distances(items: Sequence[RobustCounterfactual], features: FeatureSpace) -> None:
    for i, item in enumerate(items):
        robust, original = item.points["robust"], item.points["original"]
        for name, other in (("base", item.points["base"]), ("original", original)):
            stated: float = getattr(item, f"distance_to_{name}")
            true = math.nan if robust is None or other is None else float(features.distance(robust, other))
            same = math.isclose(stated, true, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
            _refuse(i, f"its distance to the {name} is {true}, not {stated}", not (same or math.isnan(stated + true)))
            _refuse(i, f"its distance to the {name} is {true}, not {stated}", math.isnan(stated) != math.isnan(true))
        if robust is not None and original is not None:
            unmoved = not features.differs(robust, original).any()
            _refuse(i, "it has nothing to change, though it is not there yet", unmoved)


def _vote_of(item: RobustCounterfactual) -> str:
    return _HAS_VOTE.get(item.status, "never")


def _certified(item: RobustCounterfactual) -> bool:
    return item.status == "certified"


def _has(item: RobustCounterfactual, which: Which) -> bool:
    return item.points[which] is not None


def _refuse(i: int, reason: str, is_so: bool) -> None:
    if is_so:
        raise CorruptFile(f"row {i} is not one that `explain` writes: {reason}")
