"""From votes to guarantees: how surely so many agreeing models speak for all of them.

`n_models` members are drawn at random from a space of retrained models, and `n_agree` of them give a point its target
class. With a Beta(a, b) prior the validity rate of the point, its share of agreement over the whole space, has the
posterior Beta(a + n_agree, b + n_models - n_agree). Its lower quantile is what can be promised.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.errors import CorruptFile, InvalidInput, UnreachableGuarantee

Tail = Literal["one-sided", "two-sided"]
_TAILS: tuple[Tail, ...] = ("one-sided", "two-sided")
_MOST_MODELS = 10_000_000


@dataclass(frozen=True)
class Prior:
    """A Beta(a, b) prior on the validity rate.

    Examples
    --------
    >>> Prior(2, 1)
    Prior(a=2, b=1)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name, value, least in (("a", self.a, 0.0), ("b", self.b, 1e-9)):
            if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= least):
                rule = "a number >= 0" if least == 0 else "a number > 0"
                raise InvalidInput(f"`prior.{name}` must be {rule}; got {value!r}.")


JEFFREYS = Prior(0.5, 0.5)
"""The paper's prior."""
UNIFORM = Prior(1, 1)
"""Every validity rate is as likely as any other before the vote."""
EXACT = Prior(0, 1)
"""The default. Clopper-Pearson: the guarantee holds for every true rate, at the price of a slightly larger quorum."""

PRIORS = {"jeffreys": JEFFREYS, "uniform": UNIFORM, "exact": EXACT}


def check_prior(prior: object) -> Prior:
    """Turn a name, a pair or a `Prior` into a `Prior`.

    Examples
    --------
    >>> check_prior("exact")
    Prior(a=0, b=1)
    >>> check_prior((2, 3))
    Prior(a=2, b=3)
    """
    match prior:
        case Prior():
            return prior
        case str() if prior in PRIORS:
            return PRIORS[prior]
        case (float() | int() as a, float() | int() as b):
            return Prior(a, b)
    raise InvalidInput(
        f"`prior` must be one of {', '.join(map(repr, PRIORS))}, a pair (a, b) or a Prior; got {prior!r}."
    )


def lower_bound(
    n_agree: int | IntArray,
    n_models: int | IntArray,
    *,
    confidence: float = 0.95,
    prior: Prior = EXACT,
    tail: Tail = "one-sided",
) -> FloatArray:
    """Give the validity rate that so many agreeing models vouch for.

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
    bound = betaincinv(np.where(proper, a, 1.0), b, _tail_mass(confidence, tail))
    return np.asarray(np.where(proper, bound, 0.0))


def interval(
    n_agree: int | IntArray, n_models: int | IntArray, *, confidence: float = 0.95, prior: Prior = EXACT
) -> tuple[FloatArray, FloatArray]:
    """Give the two-sided credible interval of the validity rate.

    Returns
    -------
    lower, upper : arrays of float
        For `EXACT`, the two-sided Clopper-Pearson interval.

    Examples
    --------
    >>> [float(end.round(3)) for end in interval(30, 32, confidence=0.9, prior=UNIFORM)]
    [0.821, 0.975]
    """
    from scipy.special import betaincinv

    z, n = _check_votes(n_agree, n_models)
    lower = lower_bound(n_agree, n_models, confidence=confidence, prior=prior, tail="two-sided")
    # Clopper-Pearson's upper end comes from the mirrored prior, Beta(1, 0).
    a, b = (prior.b, prior.a) if prior.a == 0 else (prior.a, prior.b)
    proper = b + n - z > 0
    upper = betaincinv(a + z, np.where(proper, b + n - z, 1.0), 1 - _tail_mass(confidence, "two-sided"))
    return lower, np.asarray(np.where(proper, upper, 1.0))


def max_delta(
    n_models: int | IntArray,
    *,
    confidence: float = 0.95,
    prior: Prior = EXACT,
    tail: Tail = "one-sided",
) -> FloatArray:
    """Give the largest delta that so many models can ever certify: all of them agree.

    Notes
    -----
    The paper's Theorem 2.

    Examples
    --------
    >>> float(max_delta(32, prior=JEFFREYS).round(3))
    0.942
    """
    return lower_bound(n_models, n_models, confidence=confidence, prior=prior, tail=tail)


@dataclass(frozen=True)
class Guarantee:
    """What is promised: valid under at least `delta` of all admissible models, with `confidence`.

    Parameters
    ----------
    delta : float
        The least share of retrained models that must keep the class, in (0, 1).
    confidence : float
        How sure the promise is, in (0, 1), one-sided unless `tail` says otherwise.
    prior : Prior, str or pair
        "exact" (default), "jeffreys", "uniform", or (a, b).
    tail : {"one-sided", "two-sided"}
        "two-sided" puts only half of 1 - confidence below the bound.

    Examples
    --------
    >>> guarantee = Guarantee(delta=0.9, confidence=0.95)
    >>> guarantee.min_models(), guarantee.min_models(allowed_dissent=1)
    (29, 46)
    >>> guarantee.quorum(103)
    98
    >>> print(guarantee.certify(98, 103))
    98 of 103 fresh models agree: valid for >= 90 % with 95 % confidence
    """

    delta: float = 0.9
    confidence: float = 0.95
    prior: Prior = EXACT
    tail: Tail = "one-sided"

    def __post_init__(self) -> None:
        for name in ("delta", "confidence"):
            _check_share(name, getattr(self, name))
        object.__setattr__(self, "prior", check_prior(self.prior))
        _tail_mass(self.confidence, self.tail)

    def lower_bound(self, n_agree: int | IntArray, n_models: int | IntArray) -> FloatArray:
        """Give the rate that so many votes vouch for; see `betarce.posterior.lower_bound`."""
        return lower_bound(n_agree, n_models, confidence=self.confidence, prior=self.prior, tail=self.tail)

    def max_delta(self, n_models: int) -> float:
        """Give the largest delta that so many models could certify at this confidence."""
        return float(max_delta(n_models, confidence=self.confidence, prior=self.prior, tail=self.tail))

    def quorum(self, n_models: int) -> int:
        """Give the least number of agreeing models that certifies.

        Raises
        ------
        UnreachableGuarantee
            If not even unanimity would do.
        """
        if _check_count("n_models", n_models) > _MOST_MODELS:
            raise InvalidInput(f"`n_models` must be at most {_MOST_MODELS:,}; got {n_models:,}.")
        agree = np.arange(n_models + 1)
        passing = np.flatnonzero(self._certifies(agree, np.full_like(agree, n_models)))
        if passing.size == 0:
            raise UnreachableGuarantee(
                f"{n_models} model{'s' * (n_models != 1)} cannot certify delta={self.delta:g} at confidence="
                f"{self.confidence:g}, even if all agree: at least {self.min_models()} are needed. "
                "Draw more models, or lower `delta` or `confidence`."
            )
        return int(passing[0])

    def min_models(self, allowed_dissent: int = 0) -> int:
        """Give the least number of models whose quorum lets so many of them disagree."""
        dissent = _check_count("allowed_dissent", allowed_dissent, least=0)

        def enough(n: int) -> bool:
            return bool(self._certifies(np.array([n - dissent]), np.array([n]))[0])

        low, high = max(dissent, 1) - 1, max(dissent, 1)
        while not enough(high):
            if high > _MOST_MODELS:
                raise UnreachableGuarantee(
                    f"delta={self.delta:g} at confidence={self.confidence:g} would take more than "
                    f"{_MOST_MODELS:,} models. Lower `delta` or `confidence`."
                )
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def efficient_size(self, near: int, *, at_most: int | None = None) -> int:
        """Give the number of models nearest to `near` that wastes no vote.

        A size is efficient if no smaller one allows as many members to dissent: one model more would only raise the
        quorum, so it would cost training time and distance alike.

        Parameters
        ----------
        near : int
            How many models are wanted, about.
        at_most : int, optional
            How many there are.

        Raises
        ------
        UnreachableGuarantee
            If `at_most` models cannot give the guarantee.

        Examples
        --------
        >>> guarantee = Guarantee(delta=0.9, confidence=0.95)
        >>> [guarantee.efficient_size(n) for n in (1, 50, 100, 300)]
        [29, 46, 103, 298]
        >>> guarantee.efficient_size(100, at_most=100)
        89
        """
        near = _check_count("near", near)
        if near < self.min_models():
            size = self.min_models()
        else:
            dissent = near - self.quorum(near)
            below, above = self.min_models(dissent), self.min_models(dissent + 1)
            size = above if above - near <= near - below else below
        if at_most is None or size <= at_most:
            return size
        return self.min_models(at_most - self.quorum(at_most))

    def certify(self, n_agree: int, n_models: int, **context: Any) -> "Certificate":
        """Turn a vote into a certificate; `context` fills its further fields."""
        return Certificate(n_agree=n_agree, n_models=n_models, guarantee=self, **context)

    def _certifies(self, n_agree: IntArray, n_models: IntArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
        # The quantile is >= delta exactly where the distribution function at delta is <= the tail's mass.
        from scipy.special import betainc

        a, b = self.prior.a + n_agree, self.prior.b + n_models - n_agree
        below = np.where(a > 0, betainc(np.where(a > 0, a, 1.0), b, self.delta), 1.0)
        return np.asarray(below <= _tail_mass(self.confidence, self.tail))


@dataclass(frozen=True)
class Certificate:
    """The outcome of one vote on one point, in a form that can be kept and checked again.

    Attributes
    ----------
    n_agree, n_models : int
        The vote.
    guarantee : Guarantee
        What the vote was about.
    members : {"fresh", "search"}
        "fresh": the voters never took part in choosing the point. "search": they did (the paper's way), so the
        stated confidence is optimistic.
    target : str, int, float, bool or None
        The class that the voters had to give.
    space : str
        The declared space of retrained models.
    point : str
        A fingerprint of the certified point, or "" if none was given.
    varied : bool
        Whether the voters differ from each other at all. Where all are the same model, their votes say nothing about
        retraining, and the certificate certifies nothing.

    Examples
    --------
    >>> certificate = Guarantee(0.9, 0.95).certify(38, 38, target="approved")
    >>> certificate.certified, round(certificate.lower_bound, 3)
    (True, 0.924)
    >>> Certificate.from_json(certificate.to_json()) == certificate
    True
    >>> print(Guarantee(0.9, 0.95).certify(30, 38))
    30 of 38 fresh models agree: valid for >= 65.2 % with 95 % confidence, short of the 90 % asked for
    """

    n_agree: int
    n_models: int
    guarantee: Guarantee
    members: Literal["fresh", "search"] = "fresh"
    target: str | float | int | bool | None = None
    space: str = ""
    point: str = ""
    varied: bool = True
    lower_bound: float = field(init=False, compare=False)
    certified: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if self.members not in ("fresh", "search"):
            raise InvalidInput(f"`members` must be 'fresh' or 'search'; got {self.members!r}.")
        bound = self.guarantee.lower_bound(self.n_agree, self.n_models)
        for name in ("n_agree", "n_models"):
            object.__setattr__(self, name, int(getattr(self, name)))
        passes = self.guarantee._certifies(np.array([self.n_agree]), np.array([self.n_models]))
        object.__setattr__(self, "lower_bound", float(bound))
        object.__setattr__(self, "certified", bool(passes[0]) and self.varied)

    def __str__(self) -> str:
        if not self.varied:
            return (
                f"{self.n_agree} of {self.n_models} models agree, but all of them are the same model: this says "
                "nothing about retraining"
            )
        who = "fresh models" if self.members == "fresh" else "models that also steered the search"
        verdict = (
            f"{self.n_agree} of {self.n_models} {who} agree: valid for >= {percent(self.lower_bound)} "
            f"with {percent(self.guarantee.confidence)} confidence"
        )
        if not self.certified:
            return f"{verdict}, short of the {percent(self.guarantee.delta)} asked for"
        return verdict if self.members == "fresh" else f"{verdict} (optimistic: not tested on fresh models)"

    def to_json(self) -> str:
        """Write the certificate as one JSON object, with a digest over all its fields."""
        from betarce.certificate_file import to_plain

        return json.dumps(to_plain(self), sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read a certificate and check that nothing was changed, and that its verdict follows from its vote.

        Raises
        ------
        CorruptFile
            If the text is not a certificate, was changed, does not add up, or has the format of another version.
        """
        from betarce.certificate_file import from_plain
        from betarce.storage.documents import parse_json

        try:
            data = parse_json(text)
        except CorruptFile as error:
            raise CorruptFile(f"This is not a readable betarce certificate: {error}.") from error
        return from_plain(data)


def check_vote_decides(guarantee: Guarantee) -> None:
    """Refuse a guarantee that its prior alone gives, whatever models would say.

    Examples
    --------
    >>> check_vote_decides(Guarantee(0.9, 0.95))
    >>> check_vote_decides(Guarantee(0.9, 0.95, Prior(1e9, 1)))
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `prior` and `confidence` must leave the verdict to the vote;
    got Prior(a=1000000000.0, b=1), which promises delta=0.9 with confidence 0.95 before any model is asked.
    """
    if guarantee._certifies(np.array([0]), np.array([0]))[0]:
        raise InvalidInput(
            f"`prior` and `confidence` must leave the verdict to the vote; got {guarantee.prior}, which promises delta="
            f"{guarantee.delta:g} with confidence {guarantee.confidence:g} before any model is asked."
        )


def percent(share: float) -> str:
    """Write a share as a percentage, rounded down so that it never claims more than was shown."""
    return f"{math.floor(share * 1000 + 1e-9) / 10:g} %"


def _tail_mass(confidence: float, tail: Tail) -> float:
    _check_share("confidence", confidence)
    if tail not in _TAILS:
        raise InvalidInput(f"`tail` must be 'one-sided' or 'two-sided'; got {tail!r}.")
    return (1 - confidence) / (1 if tail == "one-sided" else 2)


def _check_share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise InvalidInput(f"`{name}` must be strictly between 0 and 1; got {value!r}.")


def _check_count(name: str, value: object, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(f"`{name}` must be a whole number >= {least}; got {value!r}.")
    return int(value)


def _check_votes(n_agree: int | IntArray, n_models: int | IntArray) -> tuple[IntArray, IntArray]:
    z, n = np.broadcast_arrays(n_agree, n_models)
    if not (np.issubdtype(z.dtype, np.integer) and np.issubdtype(n.dtype, np.integer)):
        raise InvalidInput(f"`n_agree` and `n_models` must be whole numbers; got {n_agree!r} and {n_models!r}.")
    if np.any(n < 1) or np.any(z < 0) or np.any(z > n):
        raise InvalidInput(f"`n_agree` must lie between 0 and `n_models` >= 1; got {n_agree!r} and {n_models!r}.")
    return z, n
