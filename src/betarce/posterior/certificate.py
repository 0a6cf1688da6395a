"""What is asked of a vote, and the certificate that one vote on one point gets.

The two are one module, because each makes the other: a guarantee certifies, and a certificate that is read from a file
brings its guarantee along.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import CorruptFile, InvalidInput, UnreachableGuarantee
from betarce.posterior.bounds import Tail, check_share, lower_bound, max_delta, percent, reaches, tail_mass
from betarce.posterior.certificate_fields import (
    guarantee_of,
    plain_target,
    verdict_of,
    vote_of,
    with_digest,
    without_digest,
)
from betarce.posterior.prior import EXACT, Prior, check_prior
from betarce.storage.documents import parse_json

_MOST_MODELS = 10_000_000
_RESERVED_VOTES = 100  # a reserve may cost one vote in so many
_TOLERANCE = 1e-9  # of a bound that another machine or version of scipy computed


@dataclass(frozen=True)
class Guarantee:
    """A promise: the point is valid under at least `delta` of all admissible models, with `confidence`.

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
    reserve : float
        The share of the allowed error that a vote must leave unused, in [0, 1), where that asks for no more than one
        vote in a hundred. It raises the quorum, not the bound that a vote vouches for.

    Examples
    --------
    >>> from betarce import Guarantee
    >>> guarantee = Guarantee(delta=0.9, confidence=0.95)
    >>> guarantee.min_models(), guarantee.min_models(allowed_dissent=1)
    (29, 46)
    >>> guarantee.quorum(103)
    98
    >>> print(guarantee.certify(98, 103))
    98 of 103 fresh models agree: valid for >= 90 % with 95 % confidence
    >>> Guarantee(delta=0.9, confidence=0.95, reserve=0.5).quorum(298), guarantee.quorum(298)
    (279, 277)
    """

    delta: float = 0.9
    confidence: float = 0.95
    prior: Prior = EXACT
    tail: Tail = "one-sided"
    reserve: float = 0.0

    def __post_init__(self) -> None:
        for name in ("delta", "confidence"):
            check_share(name, getattr(self, name))
        object.__setattr__(self, "prior", check_prior(self.prior))
        tail_mass(self.confidence, self.tail)
        if not isinstance(self.reserve, (int, float)) or not 0 <= self.reserve < 1:
            raise InvalidInput(f"`reserve` must be a share in [0, 1); got {self.reserve!r}.")

    def lower_bound(self, n_agree: int | IntArray, n_models: int | IntArray) -> FloatArray:
        """Give the rate that so many votes vouch for; see `betarce.posterior.lower_bound`."""
        return lower_bound(n_agree, n_models, confidence=self.confidence, prior=self.prior, tail=self.tail)

    def max_delta(self, n_models: int) -> float:
        """Give the largest delta that so many models could certify at this confidence."""
        n_models = _check_count("n_models", n_models)
        return float(max_delta(n_models, confidence=self.confidence, prior=self.prior, tail=self.tail))

    def certifies(self, n_agree: int | IntArray, n_models: int | IntArray) -> BoolArray:
        """Say whether so many agreeing models are enough.

        Examples
        --------
        >>> bool(Guarantee(delta=0.9, confidence=0.95).certifies(98, 103))
        True
        """
        for name, value in (("n_agree", n_agree), ("n_models", n_models)):
            whole = isinstance(value, (int, np.integer)) and abs(value) <= _MOST_MODELS
            if not whole and not (isinstance(value, np.ndarray) and value.dtype.kind in "iu"):
                raise InvalidInput(f"`{name}` must be a whole number, or an array of them; got {value!r}.")
        return reaches(self.delta, n_agree, n_models, confidence=self.confidence, prior=self.prior, tail=self.tail)

    def quorum(self, n_models: int) -> int:
        """Give the least number of agreeing models that certifies, with the reserve where that costs few votes.

        Raises
        ------
        UnreachableGuarantee
            If not even unanimity would do.
        """
        if _check_count("n_models", n_models) > _MOST_MODELS:
            raise InvalidInput(f"`n_models` must be at most {_MOST_MODELS:,}; got {n_models:,}.")
        return _quorum(self, int(n_models))

    def min_models(self, allowed_dissent: int = 0) -> int:
        """Give the least number of models whose quorum lets so many of them disagree."""
        dissent = _check_count("allowed_dissent", allowed_dissent, least=0)
        if dissent > _MOST_MODELS:
            raise InvalidInput(f"`allowed_dissent` must be at most {_MOST_MODELS:,}; got {dissent:,}.")

        def enough(n: int) -> bool:
            return bool(self.certifies(n - dissent, n))

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
        if self.reserve:
            return replace(self, reserve=0.0).efficient_size(near, at_most=at_most)
        near = _check_count("near", near)
        if at_most is not None:
            at_most = _check_count("at_most", at_most)
        if near < self.min_models():
            size = self.min_models()
        else:
            dissent = near - self.quorum(near)
            below, above = self.min_models(dissent), self.min_models(dissent + 1)
            size = above if above - near <= near - below else below
        if at_most is None or size <= at_most:
            return size
        return self.min_models(at_most - self.quorum(at_most))

    def certify(self, n_agree: int, n_models: int, **context: Any) -> Certificate:
        """Turn a vote into a certificate; `context` fills its further fields."""
        return Certificate(n_agree=n_agree, n_models=n_models, guarantee=self, **context)


@dataclass(frozen=True)
class Certificate:
    """The outcome of one vote on one point; `Guarantee.certify` makes it.

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
    >>> from betarce import Certificate, Guarantee
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
        for name in ("space", "point"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInput(f"`{name}` must be text; got {getattr(self, name)!r}.")
        if not isinstance(self.members, str) or self.members not in ("fresh", "search"):
            raise InvalidInput(f"`members` must be 'fresh' or 'search'; got {self.members!r}.")
        for name, least in (("n_agree", 0), ("n_models", 1)):
            object.__setattr__(self, name, _check_count(name, getattr(self, name), least=least))
        bound, passes = _verdict(self.guarantee, self.n_agree, self.n_models)
        object.__setattr__(self, "lower_bound", bound)
        object.__setattr__(self, "certified", passes and self.varied)

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
        return json.dumps(to_plain(self), sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate and check that nothing was changed, and that its verdict follows from its vote.

        Raises
        ------
        InvalidInput
            If it is no text.
        CorruptFile
            If the text is not a certificate, was changed, does not add up, or has the format of another version.
        """
        if not isinstance(text, str):
            raise InvalidInput(f"`text` must be the JSON of a certificate, as text; got {type(text).__name__}.")
        try:
            data = parse_json(text)
        except CorruptFile as error:
            raise CorruptFile(f"This is not a readable betarce certificate: {error}.") from error
        return from_plain(data)


@lru_cache(maxsize=1024)  # the rows of a batch share few votes
def _verdict(guarantee: Guarantee, n_agree: int, n_models: int) -> tuple[float, bool]:
    """Give the lower bound of a vote, and whether it passes."""
    bound = guarantee.lower_bound(n_agree, n_models)
    return float(bound), bool(guarantee.certifies(n_agree, n_models))


@lru_cache(maxsize=256)  # asked for every row that is explained
def _quorum(guarantee: Guarantee, n_models: int) -> int:
    if guarantee.reserve:
        plain = replace(guarantee, reserve=0.0).quorum(n_models)
        strict = replace(guarantee, confidence=1 - (1 - guarantee.confidence) * (1 - guarantee.reserve), reserve=0.0)
        room = plain + n_models // _RESERVED_VOTES
        return next((n for n in range(plain, room + 1) if strict.certifies(n, n_models)), plain)
    passing = np.flatnonzero(guarantee.certifies(np.arange(n_models + 1), n_models))
    if not passing.size:
        raise UnreachableGuarantee(
            f"{n_models} model{'s' * (n_models != 1)} cannot certify delta={guarantee.delta:g} at confidence="
            f"{guarantee.confidence:g}, even if all agree: at least {guarantee.min_models()} are needed. "
            "Draw more models, or lower `delta` or `confidence`."
        )
    return int(passing[0])


@lru_cache(maxsize=64)
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
    if guarantee.certifies(0, 0):
        raise InvalidInput(
            f"`prior` and `confidence` must leave the verdict to the vote; got {guarantee.prior}, which promises delta="
            f"{guarantee.delta:g} with confidence {guarantee.confidence:g} before any model is asked."
        )


def _check_count(name: str, value: object, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(f"`{name}` must be a whole number >= {least}; got {value!r}.")
    return int(value)


def to_plain(certificate: Certificate) -> dict[str, Any]:
    """Write a certificate as plain data that strict JSON can hold.

    Examples
    --------
    >>> data = to_plain(Guarantee(0.9, 0.95).certify(38, 38, target="approved"))
    >>> from_plain(data).target
    'approved'
    >>> from_plain({**data, "target": "rejected"})
    Traceback (most recent call last):
    betarce.errors.CorruptFile: This certificate does not match its digest: it was damaged or edited. Do not rely on it.
    """
    check_vote_decides(certificate.guarantee)
    # Field by field: copying them deeply would take as long as all the rest.
    data = {each.name: getattr(certificate, each.name) for each in fields(certificate)}
    return with_digest(data | {"guarantee": asdict(certificate.guarantee), "target": plain_target(certificate.target)})


def from_plain(data: Any) -> Certificate:
    """Read a certificate from plain data.

    Raises
    ------
    CorruptFile
        If it is no certificate, was changed, or does not add up.
    """
    try:
        stated = without_digest(data)
        bound, certified = verdict_of(stated)
        vote = vote_of(stated)
        guarantee = Guarantee(**guarantee_of(stated["guarantee"]))
        check_vote_decides(guarantee)
        certificate = Certificate(guarantee=guarantee, **vote)
    except (InvalidInput, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise CorruptFile(f"This is not a readable betarce certificate: {str(error).rstrip('.')}.") from error
    if certified != certificate.certified or not math.isclose(bound, certificate.lower_bound, abs_tol=_TOLERANCE):
        raise CorruptFile(
            f"This certificate does not add up: {certificate.n_agree} of {certificate.n_models} votes give the bound "
            f"{certificate.lower_bound:.6f} (certified: {certificate.certified}), but it claims {bound!r} (certified: "
            f"{certified!r}). Do not rely on it."
        )
    # What was written comes back to the bit, even where this machine rounds the last digit differently.
    object.__setattr__(certificate, "lower_bound", bound)
    return certificate
