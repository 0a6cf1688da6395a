"""How many members search and how many certify.

The numbers depend on the guarantee and on what the model is, never on a clock. `docs/decisions/members.md` has the
measurements behind them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.ensemble.kernel import Kind
from betarce.errors import InvalidInput, UnreachableGuarantee
from betarce.posterior import Guarantee
from betarce.progress import about
from betarce.robustify.settings import MOST_MEMBERS
from betarce.spaces import Given, Space

_SEARCH: Mapping[Kind, int] = {"linear": 15, "network": 20, "trees": 61, "other": 38}
_SEARCH_MANY: Mapping[Kind, int] = {"linear": 38, "network": 38, "trees": 110, "other": 110}
_CHEAP = 3  # a linear model costs so little that three times as many certify
_AUTO, _MANY = 100, 300  # certifying members, about
# How much farther points lie with "few" members, in percent: docs/decisions/members.md has the measurements.
_FARTHER: Mapping[str, Mapping[Kind, int]] = {
    "auto": {"linear": 40, "network": 15, "trees": 15, "other": 15},
    "many": {"linear": 50, "network": 35, "trees": 35, "other": 35},
}
RESERVE: Mapping[Kind, float] = {"linear": 0.5, "network": 0.5, "trees": 0.0, "other": 0.0}
"""The share of the allowed error that certificates leave unused.

All rows of a fit share their certifying members. Linear members disagree about all rows in the same direction, and
networks about many, so in an unlucky fit the promises to many rows fail together; those of trees fail apart.
"""
_LEAST_DISSENT = 5  # where delta is so high that about 100 members would allow less
_MOST = 1000  # certifying members that are trained without being asked for by number


@dataclass(frozen=True)
class Amount:
    """A named number of members.

    Attributes
    ----------
    search : mapping of kind to int
        Members that steer.
    certify : int
        Members that decide, about; 0 takes the fewest that allow `dissent`.
    dissent : int
        How many of those may disagree, at least.
    """

    search: Mapping[Kind, int]
    certify: int
    dissent: int

    def certifying(self, guarantee: Guarantee, kind: Kind, most: int) -> int:
        """Give an efficient number of certifying members, as many as are meant but no more than `most`."""
        fewest = guarantee.min_models()
        if fewest > most:
            raise UnreachableGuarantee(
                f"delta={guarantee.delta:g} at confidence={guarantee.confidence:g} takes {fewest:,} certifying models "
                f"even if all of them agree. Lower `delta` or `confidence`, or ask for so many: "
                f"n_models=({self.search[kind]}, {fewest})."
            )
        wanted = self.certify * (_CHEAP if kind == "linear" else 1)
        for dissent in range(self.dissent, 0, -1):
            least = guarantee.min_models(allowed_dissent=dissent)
            size = max(least, guarantee.efficient_size(wanted)) if wanted else least
            if size <= most:
                return size
            wanted = 0
        return fewest


AMOUNTS: Mapping[str, Amount] = {
    "few": Amount(_SEARCH, 0, dissent=1),
    "auto": Amount(_SEARCH, _AUTO, dissent=_LEAST_DISSENT),
    "many": Amount(_SEARCH_MANY, _MANY, dissent=2 * _LEAST_DISSENT),
}
"""By name, as `n_models` takes them."""


def role_sizes(
    n_models: Any, certify_on: str, guarantee: Guarantee, space: Space, kind: Kind = "other"
) -> dict[str, int]:
    """Say how many members each role gets, and that so many can give the guarantee.

    Examples
    --------
    >>> from betarce.spaces import Seed
    >>> guarantee = Guarantee(0.9, 0.95)
    >>> role_sizes("auto", "holdout", guarantee, Seed(), "trees")
    {'search': 61, 'certify': 103}
    >>> role_sizes("auto", "holdout", guarantee, Seed(), "linear")
    {'search': 15, 'certify': 298}
    >>> role_sizes("few", "holdout", guarantee, Seed(), "network")
    {'search': 20, 'certify': 46}
    """
    if isinstance(n_models, str):
        sizes = _named_sizes(n_models, certify_on, guarantee, space, kind)
    else:
        counts = _counts(n_models)
        sizes = {"search": counts[0], "certify": counts[1]} if certify_on == "holdout" else {"search": counts[0]}
    # In the paper's form the members that search also certify.
    guarantee.quorum(sizes.get("certify", sizes["search"]))
    return sizes


def announcement(n_models: Any, sizes: Mapping[str, int], guarantee: Guarantee, kind: Kind, seconds: float) -> str:
    """Say how many models will be trained, about how long that takes, and what fewer would give up.

    Examples
    --------
    >>> print(announcement("auto", {"search": 61, "certify": 103}, Guarantee(0.9, 0.95), "trees", 42.0))
    Training 164 models (61 to search, 103 to certify): about 40 s. With n_models="few" 107 would do, for points that
    lie about 15 % farther away.
    """
    search, certify, audit = sizes["search"], sizes.get("certify", 0), sizes.get("audit", 0)
    roles = f"{search} to search, {certify} to certify" if certify else "which search and certify"
    if audit:
        roles = f"{roles if certify else f'{search} to search and certify'}, {audit} to audit"
    text = f"Training {search + certify + audit} models ({roles}): about {about(seconds)}."
    if not certify or n_models not in ("auto", "many"):
        return text
    few = AMOUNTS["few"].search[kind] + AMOUNTS["few"].certifying(guarantee, kind, most=_MOST) + audit
    return (
        f'{text} With n_models="few" {few} would do, for points that lie about {_FARTHER[n_models][kind]} % farther '
        "away."
    )


def _named_sizes(name: str, certify_on: str, guarantee: Guarantee, space: Space, kind: Kind) -> dict[str, int]:
    if name not in AMOUNTS:
        raise InvalidInput(_expected(name))
    amount, there = AMOUNTS[name], len(space) if isinstance(space, Given) else None
    if certify_on == "search":
        return {"search": guarantee.min_models(allowed_dissent=1) if there is None else there}
    if there is None:
        return {"search": amount.search[kind], "certify": amount.certifying(guarantee, kind, most=_MOST)}
    # Models that exist cost nothing: all are used, and certifying comes first.
    least_search = max(1, min(amount.search[kind], there // 5, there - guarantee.min_models()))
    rest = max(there - least_search, 1)
    certify = guarantee.efficient_size(rest, at_most=rest)
    return {"search": there - certify, "certify": certify}


def _counts(n_models: Any) -> tuple[int, int]:
    try:
        counts = list(n_models)
    except TypeError:
        counts = [n_models, n_models]
    whole = [isinstance(n, (int, np.integer)) and not isinstance(n, (bool, np.bool_)) and n >= 1 for n in counts]
    if len(counts) != 2 or not all(whole):
        raise InvalidInput(_expected(n_models))
    if max(counts) > MOST_MEMBERS:
        raise InvalidInput(f"`n_models` must be at most {MOST_MEMBERS:,} for each role; got {n_models!r}.")
    return int(counts[0]), int(counts[1])


def _expected(got: Any) -> str:
    names = ", ".join(map(repr, AMOUNTS))
    return f"`n_models` must be {names}, a whole number >= 1, or a pair (search, certify); got {got!r}."
