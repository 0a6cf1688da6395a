"""Answers become promises: a statement for each certified row, committed to by the chain."""

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray
from betarce.checks import check_flag
from betarce.errors import InvalidInput
from betarce.features.stored import to_plain
from betarce.ledger import moments
from betarce.ledger.chain import canonical, commitment, joint_digest, new_salt, sha256
from betarce.ledger.entries import Appender, put_document
from betarce.ledger.envelope import Envelope
from betarce.ledger.keys import SigningKey
from betarce.ledger.promises import OPEN, states_on_record
from betarce.ledger.statement import make_statement
from betarce.posterior import Certificate
from betarce.posterior.certificate_fields import plain_target
from betarce.results.counterfactual import RobustCounterfactual
from betarce.results.files import plain_point, readable_points
from betarce.results.result import Result
from betarce.storage.values import plain

CONTENT = ("name", "target", "cohort", "original", "point", "features", "statement", "signatures", "key")
"""The columns of a promise beside the chain, in the order in which the chain commits to them."""
_INSERT = f"INSERT INTO promises (seq, salt, {', '.join(CONTENT)}) VALUES (?, ?{', ?' * len(CONTENT)})"
_OPEN_TWIN = (
    "SELECT entries.promise FROM promises JOIN entries USING (seq) WHERE promises.key = ? AND NOT EXISTS "
    "(SELECT 1 FROM entries AS later WHERE later.promise = entries.promise "
    "AND later.kind IN ('superseded', 'honoured', 'expired', 'withdrawn'))"
)


@dataclass(frozen=True, eq=False)
class Draft:
    """A promise that is ready to be recorded.

    Attributes
    ----------
    promise : str
        Its name.
    body : mapping
        What the chain says of it for ever; nothing personal.
    salt : bytes
    content : tuple
        The values of `CONTENT`.
    supersedes : str or None
        The promise that it takes the place of.
    """

    promise: str
    body: Mapping[str, Any]
    salt: bytes
    content: tuple[Any, ...]
    supersedes: str | None = None


@dataclass(frozen=True, eq=False)
class Terms:
    """What all promises of one recording share.

    Attributes
    ----------
    identity : mapping
        Digests of model, members by role, data and rules; empty if they are not known.
    versions : mapping of str to str
    issued : datetime
    expires : datetime or None
    private : bool
        Whether statements commit to the points instead of telling them.
    key : SigningKey or None
        Signs the statements.
    """

    identity: Mapping[str, Any]
    versions: Mapping[str, str]
    issued: datetime
    expires: datetime | None = None
    private: bool = False
    key: SigningKey | None = None

    def __post_init__(self) -> None:
        check_flag("private", self.private)
        if self.key is not None and not isinstance(self.key, SigningKey):
            raise InvalidInput(f"`key` must be a SigningKey, or None; got {self.key!r}.")


def draft_promises(
    result: Result, terms: Terms, *, cohorts: Sequence[str], supersedes: Mapping[int, str] | None = None
) -> list[Draft]:
    """Turn the certified rows of a result into promises; the others promise nothing.

    Parameters
    ----------
    result : Result
    terms : Terms
    cohorts : sequence of str
        One per row of the result, as JSON.
    supersedes : mapping of int to str, optional
        By position in the result, the promise whose place a row takes.
    """
    rows = [i for i, item in enumerate(result) if item.status == "certified"]
    features = canonical(to_plain(result.features))
    shared = sha256(features.encode("ascii"))
    identity = sha256(canonical(dict(terms.identity)).encode("ascii"))
    values = readable_points([result[i].points["robust"] for i in rows], result.features)
    earlier = supersedes or {}
    return [
        _draft(result[i], value or {}, terms, cohorts[i], features=shared, identity=identity, supersedes=earlier.get(i))
        for i, value in zip(rows, values, strict=True)
    ]


def _draft(
    item: RobustCounterfactual,
    values: Mapping[str, Any],
    terms: Terms,
    cohort: str,
    *,
    features: str,
    identity: str,
    supersedes: str | None,
) -> Draft:
    vote, robust, original = _parts(item)
    promise, salt = secrets.token_hex(8), new_salt()
    point = {"values": values, "exact": plain_point(robust)}
    statement = make_statement(
        promise,
        vote,
        item.votes,
        point,
        identity=terms.identity,
        versions=terms.versions,
        issued=terms.issued,
        expires=terms.expires,
        signer="" if terms.key is None else terms.key.public.keyid,
        salt=salt if terms.private else None,
    )
    envelope = Envelope(statement.to_bytes())
    if terms.key is not None:
        envelope = envelope.signed(terms.key)
    signed = canonical(envelope.plain_signatures())
    name = canonical(plain(item.name, what="the name of a row"))
    target = canonical(plain_target(vote.target))
    # What makes recording the same answer again harmless.
    key = joint_digest(identity.encode(), name.encode(), target.encode(), blob(original), blob(robust))
    body = {
        "delta": vote.guarantee.delta,
        "confidence": vote.guarantee.confidence,
        "expires": None if terms.expires is None else moments.written(terms.expires),
        "identity": identity,
        **({} if supersedes is None else {"supersedes": supersedes}),
    }
    content = (name, target, cohort, blob(original), blob(robust), features, envelope.payload.decode(), signed, key)
    return Draft(promise, body, salt, content, supersedes)


def write_promises(
    connection: sqlite3.Connection, appender: Appender, drafts: Sequence[Draft], documents: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Append promises to the chain; one that is on record and open already is not promised twice.

    Returns
    -------
    list of str
        The name of each promise, in the order of the drafts; that of the earlier one where there is one.
    """
    for document in documents:
        put_document(connection, document)
    _check_earlier(connection, drafts)
    names = []
    for draft in drafts:
        twin = None if draft.supersedes else connection.execute(_OPEN_TWIN, (draft.content[-1],)).fetchone()
        if twin is None:
            entry = appender.append("issued", draft.promise, draft.body, committed_to(draft.salt, draft.content))
            connection.execute(_INSERT, (entry.seq, draft.salt, *draft.content))
        names.append(draft.promise if twin is None else str(twin[0]))
        if draft.supersedes is not None:
            appender.append("superseded", draft.supersedes, {"by": draft.promise})
    return names


def _check_earlier(connection: sqlite3.Connection, drafts: Sequence[Draft]) -> None:
    """Refuse to take the place of what others have closed since it was read."""
    earlier = [draft.supersedes for draft in drafts if draft.supersedes is not None]
    states = states_on_record(connection) if earlier else {}
    closed = next((promise for promise in earlier if states[promise] not in OPEN), None)
    if closed is not None:
        raise InvalidInput(
            f"`promises` must be open to be repaired; {closed} is {states[closed]} by now. Nothing was recorded."
        )


def committed_to(salt: bytes, content: Sequence[str | bytes]) -> str:
    """Commit to the content of one row beside the chain."""
    return commitment(salt, *(part if isinstance(part, bytes) else part.encode() for part in content))


def blob(point: FloatArray) -> bytes:
    """Write a point as bytes, the same on every machine."""
    return np.ascontiguousarray(point, dtype="<f8").tobytes()


def cohorts_of(cohort: Any, result: Result) -> list[str]:
    """Turn what users pass as `cohort` into one JSON text per row.

    It may be one value for all, one per row, or a Series by row name.
    """
    if cohort is None or isinstance(cohort, (str, int, float, bool)):
        return [canonical("" if cohort is None else str(cohort))] * len(result)
    if isinstance(cohort, pd.Series):
        missing = [name for name in result.row_names if name not in cohort.index]
        if missing or not cohort.index.is_unique:
            raise InvalidInput(
                f"`cohort` must have one value for each row of the result; {missing[0]!r} has none."
                if missing
                else "`cohort` must have each row name once."
            )
        return [canonical(str(value)) for value in cohort.loc[list(result.row_names)]]
    if not isinstance(cohort, (list, tuple, np.ndarray, pd.Index)) or getattr(cohort, "ndim", 1) != 1:
        raise InvalidInput(f"`cohort` must be one value, one per row, or a Series by row name; got {cohort!r}.")
    values = list(cohort)
    if len(values) != len(result):
        raise InvalidInput(f"`cohort` must have one value per row of the result ({len(result)}); got {len(values)}.")
    return [canonical(str(value)) for value in values]


def _parts(item: RobustCounterfactual) -> tuple[Certificate, FloatArray, FloatArray]:
    robust, original = item.points["robust"], item.points["original"]
    assert item.certificate is not None and robust is not None and original is not None  # noqa: PT018 - certified
    return item.certificate, robust, original
