"""Bounds on the validity rate of a point, from the votes of a few models.

`n_models` members are drawn at random from a space of retrained models, and `n_agree` of them give a point its target
class. With a Beta(a, b) prior, the validity rate of the point (its share of agreement over the whole space) has the
posterior Beta(a + n_agree, b + n_models - n_agree). The lower quantile of this posterior is what can be promised.
"""

import math
from typing import Literal

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.posterior.prior import EXACT, Prior

Tail = Literal["one-sided", "two-sided"]
_TAILS: tuple[Tail, ...] = ("one-sided", "two-sided")


def lower_bound(
    n_agree: int | IntArray,
    n_models: int | IntArray,
    *,
    confidence: float = 0.95,
    prior: Prior = EXACT,
    tail: Tail = "one-sided",
) -> FloatArray:
    """Give the lower bound on the validity rate of a point.

    Parameters
    ----------
    n_agree : int or array of int
        Members that give the point its target class.
    n_models : int or array of int
        Members asked.
    confidence : float
        How sure the bound is.
    prior : Prior
        What is believed before the vote.
    tail : {"one-sided", "two-sided"}
        "two-sided" gives the lower end of the two-sided interval of the same confidence.

    Returns
    -------
    array of float, of the shape of the inputs
        In [0, 1].

    Notes
    -----
    The paper's Alg. 1: the (1 - confidence) quantile of Beta(a + n_agree, b + n_models - n_agree).

    Examples
    --------
    >>> import numpy as np
    >>> from betarce.posterior import JEFFREYS, lower_bound
    >>> float(lower_bound(98, 103).round(4))
    0.9006
    >>> lower_bound(np.array([36, 37, 38]), 38, prior=JEFFREYS).round(3)
    array([0.862, 0.902, 0.951])
    """
    from scipy.special import betaincinv

    z, n = _check_votes(n_agree, n_models)
    a, b = prior.a + z, prior.b + n - z
    # A Beta(0, b) is a point mass at 0: nobody agreed and the prior adds nothing.
    proper = a > 0
    bound = betaincinv(np.where(proper, a, 1.0), b, tail_mass(confidence, tail))
    return np.asarray(np.where(proper, bound, 0.0))


def interval(
    n_agree: int | IntArray, n_models: int | IntArray, *, confidence: float = 0.95, prior: Prior = EXACT
) -> tuple[FloatArray, FloatArray]:
    """Give the two-sided credible interval of the validity rate.

    Parameters
    ----------
    n_agree : int or array of int
        Members that give the point its target class.
    n_models : int or array of int
        Members asked.
    confidence : float
        Probability that the interval holds the rate.
    prior : Prior
        What is believed before the vote.

    Returns
    -------
    lower, upper : arrays of float
        For `EXACT`, the two-sided Clopper-Pearson interval.

    Examples
    --------
    >>> from betarce.posterior import UNIFORM, interval
    >>> [float(end.round(3)) for end in interval(30, 32, confidence=0.9, prior=UNIFORM)]
    [0.821, 0.975]
    """
    from scipy.special import betaincinv

    z, n = _check_votes(n_agree, n_models)
    lower = lower_bound(n_agree, n_models, confidence=confidence, prior=prior, tail="two-sided")
    # Clopper-Pearson's upper end comes from the mirrored prior, Beta(1, 0).
    a, b = (prior.b, prior.a) if prior.a == 0 else (prior.a, prior.b)
    proper = b + n - z > 0
    upper = betaincinv(a + z, np.where(proper, b + n - z, 1.0), 1 - tail_mass(confidence, "two-sided"))
    return lower, np.asarray(np.where(proper, upper, 1.0))


def max_delta(
    n_models: int | IntArray,
    *,
    confidence: float = 0.95,
    prior: Prior = EXACT,
    tail: Tail = "one-sided",
) -> FloatArray:
    """Give the largest delta that so many models can certify, which they do if all of them agree.

    Parameters
    ----------
    n_models : int or array of int
        Members asked.
    confidence : float
        How sure the bound is.
    prior : Prior
        What is believed before the vote.
    tail : {"one-sided", "two-sided"}
        See `lower_bound`.

    Returns
    -------
    array of float, of the shape of `n_models`

    Notes
    -----
    The paper's Theorem 2.

    Examples
    --------
    >>> from betarce.posterior import JEFFREYS, max_delta
    >>> float(max_delta(32, prior=JEFFREYS).round(3))
    0.942
    """
    return lower_bound(n_models, n_models, confidence=confidence, prior=prior, tail=tail)


def reaches(
    delta: float, n_agree: int | IntArray, n_models: int | IntArray, *, confidence: float, prior: Prior, tail: Tail
) -> BoolArray:
    """Say whether the lower bound is at least `delta`, without computing it.

    The quantile is at least `delta` exactly where the distribution function at `delta` is at most the mass of the
    tail. A vote of nobody is allowed: it asks what the prior says alone.

    Examples
    --------
    >>> reaches(0.9, np.array([97, 98]), 103, confidence=0.95, prior=EXACT, tail="one-sided")
    array([False,  True])
    """
    from scipy.special import betainc

    z, n = np.asarray(n_agree), np.asarray(n_models)
    a, b = prior.a + z, prior.b + n - z
    below = np.where(a > 0, betainc(np.where(a > 0, a, 1.0), b, delta), 1.0)
    return np.asarray(below <= tail_mass(confidence, tail))


def percent(share: float) -> str:
    """Write a share as a percentage, rounded down so that it never claims more than was shown.

    Examples
    --------
    >>> percent(0.90064), percent(0.8999)
    ('90 %', '89.9 %')
    """
    return f"{math.floor(share * 1000 + 1e-9) / 10:g} %"


def tail_mass(confidence: float, tail: Tail) -> float:
    """Give the probability that lies below the lower bound.

    Examples
    --------
    >>> round(tail_mass(0.95, "two-sided"), 3)
    0.025
    """
    check_share("confidence", confidence)
    if not isinstance(tail, str) or tail not in _TAILS:
        raise InvalidInput(f"`tail` must be 'one-sided' or 'two-sided'; got {tail!r}.")
    return (1 - confidence) / (1 if tail == "one-sided" else 2)


def check_share(name: str, value: object) -> None:
    """Refuse a share that is not strictly between 0 and 1.

    Examples
    --------
    >>> check_share("delta", 1.0)
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `delta` must be strictly between 0 and 1; got 1.0.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise InvalidInput(f"`{name}` must be strictly between 0 and 1; got {value!r}.")


def _check_votes(n_agree: int | IntArray, n_models: int | IntArray) -> tuple[IntArray, IntArray]:
    try:
        z, n = np.broadcast_arrays(n_agree, n_models)
    except ValueError as error:
        raise InvalidInput(
            f"`n_agree` and `n_models` must have one shape; got {n_agree!r} and {n_models!r}."
        ) from error
    if not (np.issubdtype(z.dtype, np.integer) and np.issubdtype(n.dtype, np.integer)):
        raise InvalidInput(f"`n_agree` and `n_models` must be whole numbers; got {n_agree!r} and {n_models!r}.")
    if np.any(n < 1) or np.any(z < 0) or np.any(z > n):
        raise InvalidInput(f"`n_agree` must lie between 0 and `n_models` >= 1; got {n_agree!r} and {n_models!r}.")
    return z, n
