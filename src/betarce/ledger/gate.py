"""Is a new model of the kind that was declared? Its share of broken promises, ranked among those of audit members.

Delta 0.9 allows a tenth of all models to break a promise, and all promises meet the same new model: so a model from the
declared space may break many at once, by bad luck. Audit members are such models, and nothing has seen them. If the new
model comes from the declared space, its share is one of n + 1 shares in random order, and the chance that it is among
the largest k of them is k / (n + 1) at most. Equal shares count against the new model's being special, so the p-value
is never too small: with few promises, where shares are often equal, it is larger than it need be.
"""

from dataclasses import dataclass

from betarce.arrays import BoolArray, FloatArray
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
        (1 + number of audit members that break as many or more) / (1 + number of audit members).
    """

    share: float
    audit_shares: FloatArray
    n_promises: int
    p: float

    @property
    def smallest_p(self) -> float:
        """The smallest p-value that so many audit members can give."""
        return 1 / (1 + len(self.audit_shares))

    @property
    def beyond(self) -> bool:
        """Whether the change was not of the declared kind, as far as can be told."""
        return self.p <= LEVEL

    def __str__(self) -> str:
        broken = f"The new model breaks {self.share:.1%} of {self.n_promises:,} promises"
        usual = f"the {len(self.audit_shares)} audit members {self.audit_shares.mean():.1%} on average"
        most = f"{self.audit_shares.max():.1%} at most"
        if self.smallest_p > LEVEL:
            verdict = f"too few audit members to tell: they cannot give a p-value below {self.smallest_p:.2g}"
        elif self.beyond:
            verdict = "this change was not of the kind you declared"
        elif self.share:
            verdict = "bad luck within what was promised"
        else:
            verdict = "all promises hold"
        return f"{broken}, {usual} and {most} (p = {self.p:.3g}): {verdict}."


def rank(broken: BoolArray, audit_broken: BoolArray) -> Gate:
    """Rank the share of promises that a new model breaks among the shares of audit members.

    Parameters
    ----------
    broken : array of bool, shape (promises,)
        Which promises the new model breaks.
    audit_broken : array of bool, shape (promises, audit members)
        Which each audit member breaks.

    Examples
    --------
    >>> import numpy as np
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
    ours, theirs = int(broken.sum()), audit_broken.sum(axis=0)
    p = (1 + int((theirs >= ours).sum())) / (1 + len(theirs))
    return Gate(ours / len(broken), theirs / len(broken), len(broken), p)
