"""A promise as a statement that a stranger can check: an in-toto Statement about one certified point.

Each part has a digest of its own, so that a change is not only found but named. The digests hold no secret: who must
know that nobody wrote the whole statement anew needs a signature (see `betarce.ledger.envelope`).
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.errors import CorruptFile, InvalidInput
from betarce.ledger import moments
from betarce.ledger.chain import canonical, commitment, sha256
from betarce.posterior import Certificate, percent
from betarce.posterior.certificate import from_plain, to_plain
from betarce.posterior.certificate_fields import fingerprint
from betarce.storage.documents import parse_json

STATEMENT = "https://in-toto.io/Statement/v1"
PROMISE = "urn:betarce:promise:v1"
_DIGITS = 16
_SPACES = {
    "Seed": "trained again on the same data with another random seed",
    "Bootstrap": "trained again on the training rows drawn with replacement",
    "NewData": "trained on new rows of the same population, as far as parts of the training rows stand for them",
    "Architecture": "trained again with other hyperparameters from the declared ranges",
    "Mixture": "trained again in one of several declared ways",
    "Custom": "drawn by code of the user",
    "Given": "given by the user",
}
_PARTS = (
    *("promise", "in_words", "certificate", "votes", "space", "point", "identity", "versions"),
    *("issued", "expires", "signer"),
)


@dataclass(frozen=True, eq=False)
class Statement:
    """What was promised, on what grounds, and until when.

    Attributes
    ----------
    promise : str
        The name of the promise.
    certificate : Certificate
        The vote: target, delta, confidence, prior, how many agreed. Without the fingerprint of the point if that is
        private.
    votes : tuple of bool
        Who agreed, in the order of the certifying members.
    point : mapping or None
        "values", by column in original units, and "exact", as floats; None where the statement only commits to them.
    subject : str
        The SHA-256 of the point, or the salted commitment to it.
    identity : mapping
        Digests of model, members by role, data and rules; empty if they were not given.
    versions : mapping of str to str
    issued : datetime
    expires : datetime or None
    signer : str
        The name of the key that was to sign it; "" for none.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE, Ledger
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> rce = BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(6, 18), random_state=0).fit(X, y)
    >>> result = rce.explain(X[y == 0][:3], target=1)
    >>> ledger = Ledger(pathlib.Path(tempfile.mkdtemp()) / "promises.db")
    >>> names = ledger.record(result)
    >>> statement = read_statement(ledger.envelope(names[0]).payload)
    >>> statement.promise == names[0], statement.certificate.n_models
    (True, 18)
    >>> ledger.close()
    """

    promise: str
    certificate: Certificate
    votes: tuple[bool, ...]
    point: Mapping[str, Any] | None
    subject: str
    identity: Mapping[str, Any]
    versions: Mapping[str, str]
    issued: datetime
    expires: datetime | None = None
    signer: str = ""

    @property
    def in_words(self) -> str:
        """The promise as a sentence."""
        vote = self.certificate
        return (
            f"At this point, at least {percent(vote.guarantee.delta)} of all models that may replace the present one "
            f"answer {vote.target!r}, with {percent(vote.guarantee.confidence)} confidence. {vote}."
        )

    def is_of(self, point: Mapping[str, Any], salt: bytes | None = None) -> bool:
        """Say whether a point, with the salt if the statement only commits to it, is the one that was promised."""
        return self.subject == subject_of(point, salt)

    def to_plain(self) -> dict[str, Any]:
        """Write the statement as JSON has it."""
        return dict(json.loads(self.to_bytes()))

    def to_bytes(self) -> bytes:
        """Write the statement as the payload of an envelope."""
        # Each part is written once, for its digest and for the whole; what many statements share, once for all of them.
        written = {name: _written(part) for name, part in self._parts().items()}
        digests = canonical({name: digest for name, (_, digest) in written.items()})
        (subject, _), *others = written.values()
        inner = sorted([*((name, text) for name, (text, _) in zip(_PARTS, others, strict=True)), ("digests", digests)])
        predicate = ",".join([f'"{name}":{text}' for name, text in inner])
        return (
            f'{{"_type":"{STATEMENT}","predicate":{{{predicate}}},"predicateType":"{PROMISE}","subject":{subject}}}'
        ).encode("ascii")

    def _parts(self) -> dict[str, Any]:
        """Give what has a digest of its own."""
        return {
            "subject": [{"name": f"promise/{self.promise}", "digest": {"sha256": self.subject}}],
            "promise": self.promise,
            "in_words": self.in_words,
            "certificate": to_plain(self.certificate),
            "votes": "".join(["1" if vote else "0" for vote in self.votes]),
            "space": space_in_words(self.certificate.space),
            "point": "salted" if self.point is None else dict(self.point),
            "identity": dict(self.identity),
            "versions": dict(self.versions),
            "issued": moments.written(self.issued),
            "expires": None if self.expires is None else moments.written(self.expires),
            "signer": self.signer,
        }


def make_statement(
    promise: str,
    certificate: Certificate,
    votes: tuple[bool, ...],
    point: Mapping[str, Any],
    *,
    identity: Mapping[str, Any],
    versions: Mapping[str, str],
    issued: datetime,
    expires: datetime | None = None,
    signer: str = "",
    salt: bytes | None = None,
) -> Statement:
    """State a promise; with a salt, commit to the point instead of telling it."""
    if not certificate.certified:
        raise InvalidInput(f"`certificate` must be one that passed; got one that did not: {certificate}.")
    hidden = salt is not None
    return Statement(
        promise,
        replace(certificate, point="") if hidden else certificate,
        votes,
        None if hidden else point,
        subject_of(point, salt),
        identity,
        versions,
        issued,
        expires,
        signer,
    )


def subject_of(point: Mapping[str, Any], salt: bytes | None = None) -> str:
    """Give the digest of a point, or a commitment to it."""
    text = canonical(dict(point)).encode("ascii")
    return sha256(text) if salt is None else commitment(salt, text)


def space_in_words(space: str) -> str:
    """Say what a declared space means.

    Examples
    --------
    >>> space_in_words("Bootstrap(stratified=False)")
    'Bootstrap(stratified=False): trained again on the training rows drawn with replacement'
    """
    name = space.partition("(")[0]
    return f"{space}: {_SPACES[name]}" if name in _SPACES else space


def read_statement(payload: bytes) -> Statement:
    """Read a statement, and check everything in it that follows from something else in it.

    Raises
    ------
    CorruptFile
        With the part that was changed, or does not add up.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE, Ledger
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> rce = BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(6, 18), random_state=0).fit(X, y)
    >>> result = rce.explain(X[y == 0][:3], target=1)
    >>> ledger = Ledger(pathlib.Path(tempfile.mkdtemp()) / "promises.db")
    >>> names = ledger.record(result)
    >>> read_statement(ledger.envelope(names[0]).payload).certificate.n_models
    18
    >>> ledger.close()
    """
    try:
        text = payload.decode("ascii")
    except UnicodeDecodeError as error:
        raise CorruptFile(f"it is not plain ASCII: {error}") from error
    document = parse_json(text)
    predicate = _predicate(document)
    _check_digests(document, predicate)
    if canonical(document) != text:
        raise CorruptFile("it is laid out otherwise than betarce writes it: spaces or escapes were changed")
    try:
        statement = _statement(document, predicate)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise CorruptFile(f"it cannot be read: {type(error).__name__}: {error}") from error
    _check_adds_up(statement, document)
    return statement


def _predicate(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict) or document.get("_type") != STATEMENT:
        raise CorruptFile(f"it is not an in-toto statement: `_type` is not {STATEMENT!r}")
    if document.get("predicateType") != PROMISE:
        raise CorruptFile(f"it is no promise of this version: `predicateType` is not {PROMISE!r}")
    predicate = document.get("predicate")
    if not isinstance(predicate, dict) or sorted(predicate) != sorted([*_PARTS, "digests"]):
        raise CorruptFile(f"`predicate` must have {', '.join(_PARTS)} and digests, and nothing else")
    if sorted(document) != ["_type", "predicate", "predicateType", "subject"]:
        raise CorruptFile("it has parts that no statement of betarce has")
    return predicate


def _written(part: Any) -> tuple[str, str]:
    """Give a part as JSON, and its digest."""
    if isinstance(part, str):
        return _shared(part)
    if isinstance(part, dict) and all(isinstance(value, str) for value in part.values()):
        return _shared(tuple(part.items()))
    text = canonical(part)
    return text, sha256(text.encode("ascii"))[:_DIGITS]


@lru_cache(maxsize=256)
def _shared(part: str | tuple[tuple[str, str], ...]) -> tuple[str, str]:
    text = canonical(part if isinstance(part, str) else dict(part))
    return text, sha256(text.encode("ascii"))[:_DIGITS]


def _check_digests(document: Mapping[str, Any], predicate: Mapping[str, Any]) -> None:
    parts = {"subject": document["subject"], **{name: predicate[name] for name in _PARTS}}
    stated, true = predicate["digests"], {name: _written(part)[1] for name, part in parts.items()}
    if not isinstance(stated, dict) or sorted(stated) != sorted(true):
        raise CorruptFile("`digests` does not name every part")
    for name, digest in true.items():
        if stated[name] != digest:
            raise CorruptFile(f"`{name}` was changed: it does not match its digest")


def _statement(document: Mapping[str, Any], predicate: Mapping[str, Any]) -> Statement:
    point, expires = predicate["point"], predicate["expires"]
    if point != "salted" and sorted(point) != ["exact", "values"]:
        raise CorruptFile("`point` must be 'salted', or have `values` and `exact`")
    if set(predicate["votes"]) - set("01"):
        raise CorruptFile("`votes` must be ones and zeros")
    return Statement(
        promise=_text(predicate, "promise"),
        certificate=from_plain(predicate["certificate"]),
        votes=tuple(vote == "1" for vote in predicate["votes"]),
        point=None if point == "salted" else point,
        subject=document["subject"][0]["digest"]["sha256"],
        identity=_identity(predicate["identity"]),
        versions=_texts(predicate, "versions"),
        issued=moments.read(predicate["issued"]),
        expires=None if expires is None else moments.read(expires),
        signer=_text(predicate, "signer"),
    )


def _check_adds_up(statement: Statement, document: Mapping[str, Any]) -> None:
    vote = statement.certificate
    if (sum(statement.votes), len(statement.votes)) != (vote.n_agree, vote.n_models):
        raise CorruptFile(
            f"`votes` has {sum(statement.votes)} of {len(statement.votes)} in favour, but `certificate` says "
            f"{vote.n_agree} of {vote.n_models}"
        )
    if not vote.certified:
        raise CorruptFile(f"`certificate` certifies nothing: {vote}")
    if statement.point is not None and not statement.is_of(statement.point):
        raise CorruptFile("`subject` is not the digest of `point`")
    if statement.point is not None and vote.point != fingerprint(_exact(statement.point)):
        raise CorruptFile("`certificate` is not for `point`")
    if (statement.point is None) != (vote.point == ""):
        raise CorruptFile("`certificate` and `point` do not agree on whether the point is told")
    if statement.expires is not None and statement.expires <= statement.issued:
        raise CorruptFile("`expires` is not later than `issued`")
    # Whoever computes all digests anew still cannot make the sentence say something else than the vote.
    for name, part in statement._parts().items():
        stated = document["subject"] if name == "subject" else document["predicate"][name]
        if part != stated:
            raise CorruptFile(f"`{name}` does not follow from the rest of the statement")


def _exact(point: Mapping[str, Any]) -> FloatArray:
    """Read the exact form of a point; a missing value is null."""
    values = point["exact"]
    if not isinstance(point["values"], dict) or not isinstance(values, list):
        raise CorruptFile("`point` must have names and values, and a list of numbers")
    if not all(value is None or type(value) is float for value in values):
        raise CorruptFile("`point` must have numbers, or null, in its exact form")
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _text(predicate: Mapping[str, Any], name: str) -> str:
    if not isinstance(predicate[name], str):
        raise CorruptFile(f"`{name}` must be text")
    return str(predicate[name])


def _texts(predicate: Mapping[str, Any], name: str) -> dict[str, str]:
    values = predicate[name]
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise CorruptFile(f"`{name}` must hold names and texts")
    return dict(values)


def _identity(data: Any) -> dict[str, str]:
    """Read digests by name."""
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise CorruptFile("`identity` must hold names and digests")
    return dict(data)
