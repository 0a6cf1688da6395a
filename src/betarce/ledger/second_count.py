"""The votes again: the members of a run asked once more about points that were certified with them."""

from collections.abc import Iterator, Sequence

import numpy as np

from betarce.arrays import FloatArray
from betarce.errors import CorruptFile
from betarce.ledger.claims import Claim, Claims
from betarce.ledger.scoring import accepted_classes
from betarce.posterior.certificate_fields import fingerprint
from betarce.results.files import read_point, readable_points
from betarce.robustify import BetaRCE
from betarce.runs.identity import identity, rules_digest

_SHOWN = 5


def count_again(found: Claims, run: BetaRCE) -> tuple[list[str], list[str]]:
    """Compare claims with the run that they come from, and take every vote again.

    Returns
    -------
    problems : list of str
        What the run contradicts.
    notes : list of str
        What could not be asked.
    """
    grounds = identity(run).to_plain()
    if found.features is not None and rules_digest(found.features) != grounds["rules"]:
        return ["the answers have other columns or rules than the run"], []
    problems: list[str] = []
    asked: list[tuple[Claim, FloatArray]] = []
    untold = 0
    for claim in found.claims:
        contradictions = [*_contradictions(claim, run), *_other_grounds(claim, grounds)]
        try:
            point = _point_of(claim, run)
        except CorruptFile as error:
            contradictions.append(str(error))
            point = None
        problems += [f"{claim.name}: {what}" for what in contradictions]
        if point is not None and not contradictions:
            asked.append((claim, point))
        untold += point is None and not contradictions
    notes = [f"{untold} of {len(found.claims)} do not tell their point, so nobody can vote on it again"]
    return [*problems, *_other_votes(asked, run)], notes if untold else []


def _contradictions(claim: Claim, run: BetaRCE) -> Iterator[str]:
    vote, members = claim.certificate, run.members_
    stated = (vote.guarantee, vote.n_models, vote.space)
    true = (run.guarantee_, len(members.voters), repr(members.space))
    for name, said, is_so in zip(("guarantee", "number of members", "space"), stated, true, strict=True):
        if said != is_so:
            yield f"its {name} is {said}; that of the run is {is_so}"
    if vote.members != ("search" if members.steered else "fresh"):
        yield f"its voters are said to be {vote.members}, which those of the run are not"


def _other_grounds(claim: Claim, grounds: dict[str, str]) -> Iterator[str]:
    stated = {} if claim.statement is None else claim.statement.identity
    for name, digest in stated.items():
        if grounds.get(name) != digest:
            yield f"its {name.replace('_', ' ')} are others than those of the run: the digests differ"


def _point_of(claim: Claim, run: BetaRCE) -> FloatArray | None:
    """Give the point of a claim; refuse one that is written in two ways that differ."""
    if claim.statement is None or claim.statement.point is None:
        return claim.point
    told = claim.statement.point
    point = read_point(told["exact"], run.features_)
    assert point is not None  # `exact` is a list
    if readable_points([point], run.features_) != [told["values"]]:
        raise CorruptFile("the values of its point are not those of its exact form")
    if claim.certificate.point != fingerprint(point):
        raise CorruptFile("its certificate is not for its point")
    return point


def _other_votes(asked: Sequence[tuple[Claim, FloatArray]], run: BetaRCE) -> Iterator[str]:
    if not asked:
        return
    points = np.array([point for _, point in asked], dtype=np.float64)
    wanted = accepted_classes([claim.certificate.target for claim, _ in asked], run.classes_.tolist())
    agrees = run.members_.voters.agrees(points, wanted)
    explained = run.problem_.model.agrees(points, wanted)[:, 0]
    for (claim, _), now, is_target in zip(asked, agrees, explained, strict=True):
        other = np.flatnonzero(now != np.array(claim.votes, dtype=bool))
        if len(other):
            shown = ", ".join(str(k + 1) for k in other[:_SHOWN]) + ", ..." * (len(other) > _SHOWN)
            yield (
                f"{claim.name}: {len(other)} of {len(now)} members vote otherwise than recorded (member {shown}): "
                f"{int(now.sum())} agree, not {sum(claim.votes)}"
            )
        if not is_target:
            yield f"{claim.name}: the model itself does not answer {claim.certificate.target!r}"
