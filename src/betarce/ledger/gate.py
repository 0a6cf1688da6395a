"""Is a new model of the kind that was declared? What it does to promises, ranked among what audit members do.

Delta 0.9 allows a tenth of all models to break a promise, and all promises meet the same new model: so a model from the
declared space may break many at once, by bad luck. Audit members are such models, and nothing has seen them. If the new
model comes from the declared space, it is one of n + 1 models in random order, and the chance that it is among the k
most extreme of them is k / (n + 1) at most. Equal ones count against the new model's being special, so the p-value is
never too small: with few promises, where shares are often equal, it is larger than it need be.

What is extreme is said by two numbers: how far a model departs from what most certifying members answer, where it does
so most, and the share of promises that it breaks. Each of the n + 1 models has a place by both; the place by
promises counts double, and the smaller of the two is ranked. That is still a rank among models in random order, so
looking at two numbers costs no validity. With 59 audit members and no equal shares, the gate fires for a model that is
among the first two by departure, or the first by promises: three places of sixty.
"""

from dataclasses import dataclass

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput

LEVEL = 0.05
"""The p-value up to which a new model is taken not to be of the declared kind."""


@dataclass(frozen=True, eq=False)
class Gate:
    """How the new model ranks.

    Attributes
    ----------
    share : float
        Of the ranked promises, those that the new model breaks.
    audit_shares : array of shape (audit members,)
        The same of every audit member.
    n_promises : int
        Promises that all of them could score.
    p : float
        The share of the audit members and the new model that are as extreme as the new model or more.
    departure : float or None
        How much more often than usual there the new model departs from most certifying members, where it does so most
        (see `betarce.ledger.departure`); None if only predictions for the promises are known.
    audit_departures : array of shape (audit members,) or None

    Examples
    --------
    >>> import numpy as np
    >>> gate = rank(np.array([True, False, False]), np.zeros((3, 19), dtype=bool))
    >>> round(gate.share, 2), gate.n_promises, gate.p
    (0.33, 3, 0.05)
    """

    share: float
    audit_shares: FloatArray
    n_promises: int
    p: float
    departure: float | None = None
    audit_departures: FloatArray | None = None

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that so many audit members can give."""
        return 1 / (1 + len(self.audit_shares))

    @property
    def beyond(self) -> bool:
        """Whether the change was not of the declared kind, as far as can be told."""
        return self.p <= LEVEL

    @property
    def verdict(self) -> str:
        """What the rank says."""
        if self.smallest_p > LEVEL:
            return f"too few audit members to tell: they cannot give a p-value below {self.smallest_p:.2g}"
        if self.beyond:
            return "this change was not of the kind you declared"
        return "bad luck within what was promised" if self.share else "all promises hold"

    def __str__(self) -> str:
        text = (
            f"The new model breaks {self.share:.1%} of {self.n_promises:,} promises, the {len(self.audit_shares)} "
            f"audit members {self.audit_shares.mean():.1%} on average and {self.audit_shares.max():.1%} at most"
        )
        if self.departure is not None and self.audit_departures is not None:
            text += (
                f"; where it departs most from the certifying members, it does so on {self.departure:.1%} more of the "
                f"training rows than these do, the audit members on {self.audit_departures.mean():.1%} on average and "
                f"{self.audit_departures.max():.1%} at most"
            )
        return f"{text} (p = {self.p:.3g}): {self.verdict}."


def rank(
    broken: BoolArray,
    audit_broken: BoolArray,
    *,
    departure: float | None = None,
    audit_departures: FloatArray | None = None,
) -> Gate:
    """Rank a new model among audit members.

    Parameters
    ----------
    broken : array of bool, shape (promises,)
        Which promises the new model breaks.
    audit_broken : array of bool, shape (promises, audit members)
        Which each audit member breaks.
    departure : float, optional
        How far the new model departs from most certifying members.
    audit_departures : array of shape (audit members,), optional
        The same of each audit member; both or none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> audit = rng.random((70, 59)) < 0.04
    >>> print(rank(np.zeros(70, dtype=bool), audit))
    The new model breaks 0.0% of 70 promises, the 59 audit members 4.1% on average and 11.4% at most (p = 1): all
    promises hold.
    >>> rank(rng.random(70) < 0.3, audit).beyond
    True
    """
    if audit_broken.ndim != 2 or audit_broken.shape[1] == 0 or len(broken) != len(audit_broken) or len(broken) == 0:
        raise InvalidInput(
            f"`audit_broken` must have one row per promise and one column per audit member, and some of both; got "
            f"the shape {audit_broken.shape} for {len(broken)} promises."
        )
    # Counted, not averaged: equal counts must be equal.
    counts = np.concatenate([[broken.sum()], audit_broken.sum(axis=0)])
    places = _places(counts)
    if departure is not None and audit_departures is not None:
        places = np.minimum(2 * places, _places(np.concatenate([[departure], audit_departures])))
    p = float((places <= places[0]).mean())
    return Gate(
        share=float(counts[0]) / len(broken),
        audit_shares=counts[1:] / len(broken),
        n_promises=len(broken),
        p=p,
        departure=departure,
        audit_departures=audit_departures,
    )


def _places(values: FloatArray | IntArray) -> IntArray:
    """Give the place of each value among all, 1 for the largest; equal ones share the last of their places."""
    return np.asarray((values[None, :] >= values[:, None]).sum(axis=1))
