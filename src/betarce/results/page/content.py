"""What the page says, as plain data for its scripts."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from betarce.errors import UnreachableGuarantee
from betarce.features import FeatureSpace
from betarce.posterior import Certificate, Guarantee
from betarce.results.ladder import LEAST_DELTA
from betarce.results.page.people import People

if TYPE_CHECKING:
    from betarce.results.result import Result

_DELTAS = [percent / 100 for percent in range(round(100 * LEAST_DELTA), 100)]


def page_content(result: "Result") -> dict[str, Any]:
    """Give everything that the page shows of a result.

    Returns
    -------
    dict
        "columns", "people" (one entry per row), "votes" (what rows were voted on, each once), "made_with" and
        "max_changes".
    """
    return {
        "columns": column_contents(result.features),
        **people_content(result),
        "made_with": dict(result.made_with),
        "max_changes": result.features.max_changes,
    }


def people_content(result: "Result") -> dict[str, Any]:
    """Give what the page shows of the rows of a result: "people" and "votes"."""
    people = People(result.features)
    entries = [people.content(item) for item in result]
    return {"people": entries, "votes": [_vote_content(vote) for vote in people.votes]}


def column_contents(features: FeatureSpace) -> list[dict[str, Any]]:
    """Describe the columns: what each is called and holds, and which rules it has, in words."""
    described = features.describe()
    derived = set(features.links.derived_columns)
    return [
        {
            "title": column.title,
            "kind": str(described["kind"].iloc[j]),
            "range": str(described["range"].iloc[j]),
            "rule": str(described["rule"].iloc[j]),
            "derived": j in derived,
        }
        for j, column in enumerate(features.columns)
    ]


def _vote_content(vote: Certificate) -> dict[str, Any]:
    """Say what was voted on, with the quorum of every delta that the page can be set to."""
    guarantee = vote.guarantee
    quorums = {delta: _quorum(replace(guarantee, delta=delta), vote.n_models) for delta in {*_DELTAS, guarantee.delta}}
    return {
        "delta": guarantee.delta,
        "confidence": guarantee.confidence,
        "prior": [guarantee.prior.a, guarantee.prior.b],
        "n_models": vote.n_models,
        "members": vote.members,
        "space": vote.space,
        "varied": vote.varied,
        "settings": [[delta, quorums[delta]] for delta in sorted(quorums) if quorums[delta] is not None],
    }


def _quorum(guarantee: Guarantee, n_models: int) -> int | None:
    try:
        return guarantee.quorum(n_models)
    except UnreachableGuarantee:
        return None
