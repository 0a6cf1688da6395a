"""What is on record, read back: promises with their state, and what happened to them."""

import sqlite3
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray
from betarce.errors import CorruptFile, InvalidInput
from betarce.features import FeatureSpace
from betarce.features.stored import from_plain
from betarce.ledger import moments
from betarce.ledger.chain import sha256
from betarce.ledger.contents import check_points, read_content, read_facts, read_remark, read_signatures
from betarce.ledger.envelope import Envelope, read_envelope
from betarce.ledger.statement import read_statement
from betarce.results.frames import as_pandas
from betarce.storage.documents import parse_json

State = Literal["issued", "broken", "superseded", "honoured", "expired", "withdrawn"]
OPEN: tuple[State, ...] = ("issued", "broken")
"""The states in which a promise still binds."""

_STATES = ", ".join(map(repr, get_args(State)))
_SELECT = f"""
    SELECT issue.seq, issue.promise, issue.at, issue.body,
           (SELECT kind FROM entries AS event WHERE event.promise = issue.promise AND event.kind IN ({_STATES})
            ORDER BY event.seq DESC LIMIT 1),
           content.name, content.target, content.cohort, content.features, content.point, content.original
    FROM entries AS issue LEFT JOIN promises AS content ON content.seq = issue.seq
    WHERE issue.kind = 'issued'"""
_FEWEST_DIGITS = 4


@dataclass(frozen=True, eq=False)
class Promise:
    """One promise on record.

    Attributes
    ----------
    id : str
        Its name.
    state : str
        "issued", "broken" (and still open), "superseded", "honoured", "expired" or "withdrawn".
    issued : datetime
    expires : datetime or None
    delta, confidence : float
        What was promised, and how surely.
    identity : str
        The digest of the grounds: of the digests of model, members, data and rules.
    erased : bool
        Whether its personal content was erased on request; then the fields below are None or empty.
    name : hashable
        What the row was called.
    target : label or list of labels
    cohort : str
    point, original : array or None
        What was promised, and for whom, as `features` encodes it.
    features : str
        The digest of the feature space.

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
    >>> promise = ledger.promise(names[0])
    >>> promise.state, promise.delta, promise.target
    ('issued', 0.8, 1)
    >>> ledger.close()
    """

    id: str
    state: State
    issued: datetime
    expires: datetime | None
    delta: float
    confidence: float
    identity: str
    erased: bool
    name: Hashable = None
    target: Any = None
    cohort: str = ""
    point: FloatArray | None = None
    original: FloatArray | None = None
    features: str = ""

    @property
    def open(self) -> bool:
        """Whether it still binds."""
        return self.state in OPEN

    def __repr__(self) -> str:
        who = "erased" if self.erased else f"{self.name!r}: {self.target!r}"
        return f"Promise({self.id}, {who}, {self.state})"


def read_promises(connection: sqlite3.Connection, at: datetime) -> Iterator[Promise]:
    """Give all promises in the order of their issue, in the state that they have at a moment."""
    now = moments.written(at)
    for row in connection.execute(f"{_SELECT} ORDER BY issue.seq"):
        yield _promise(row, now)


def find_promise(connection: sqlite3.Connection, promise: object, at: datetime) -> Promise:
    """Give one promise, by its name or by the beginning of it, if no other begins so."""
    if not isinstance(promise, str) or len(promise) < _FEWEST_DIGITS or not promise.isalnum():
        raise InvalidInput(
            f"`promise` must be a name on record, or its first {_FEWEST_DIGITS} characters at least; got {promise!r}."
        )
    rows = connection.execute(
        f"{_SELECT} AND issue.promise >= ? AND issue.promise < ? LIMIT 2", (promise, promise + "~")
    ).fetchall()
    if not rows:
        raise InvalidInput(f"`promise` must be one on record; there is none whose name begins with {promise!r}.")
    if len(rows) > 1:
        raise InvalidInput(f"`promise` must be one on record; several begin with {promise!r}: write more of its name.")
    return _promise(rows[0], moments.written(at))


def promises_to_check(connection: sqlite3.Connection, at: datetime) -> list[Promise]:
    """Give the promises that bind, and those that have expired without an entry that says so; none that was erased."""
    noted = {promise for (promise,) in connection.execute("SELECT promise FROM entries WHERE kind = 'expired'")}
    return [
        promise
        for promise in read_promises(connection, at)
        if not promise.erased and (promise.open or (promise.state == "expired" and promise.id not in noted))
    ]


def states_on_record(connection: sqlite3.Connection) -> dict[str, str]:
    """Give the state of every promise by its entries alone: one that has expired is open until an entry says so."""
    return dict(
        connection.execute(f"SELECT promise, kind FROM entries WHERE kind IN ({_STATES}) ORDER BY seq").fetchall()
    )


def read_envelope_of(connection: sqlite3.Connection, promise: Promise) -> Envelope:
    """Give the statement of a promise in its envelope."""
    row = connection.execute(
        "SELECT statement, signatures FROM promises JOIN entries USING (seq) WHERE kind = 'issued' AND promise = ?",
        (promise.id,),
    ).fetchone()
    if row is None:
        raise InvalidInput(f"The content of promise {promise.id} was erased; there is no statement any more.")
    envelope = stored_envelope(*row)
    if read_statement(envelope.payload).promise != promise.id:
        raise CorruptFile(f"the statement of promise {promise.id} is about another promise")
    return envelope


def stored_envelope(statement: Any, signatures: Any) -> Envelope:
    """Read a statement in its envelope as the ledger stores it."""
    if not isinstance(statement, str):
        raise CorruptFile("a statement is no text")
    return read_envelope({**Envelope(statement.encode()).to_plain(), "signatures": read_signatures(signatures)})


def read_features(connection: sqlite3.Connection, digest: str) -> FeatureSpace:
    """Give the feature space that promises were recorded with."""
    row = connection.execute("SELECT content FROM documents WHERE digest = ?", (digest,)).fetchone()
    if row is None:
        raise CorruptFile("a feature space that promises refer to is missing")
    if not isinstance(row[0], str) or sha256(row[0].encode()) != digest:
        raise CorruptFile("a feature space that promises refer to was changed")
    return from_plain(parse_json(row[0]))


def read_features_of(connection: sqlite3.Connection, promises: Iterable[Promise]) -> dict[str, FeatureSpace]:
    """Give the feature spaces of promises that are not erased, by digest; refuse points that do not fit theirs."""
    groups: dict[str, list[FloatArray]] = {}
    for promise in promises:
        if promise.point is not None and promise.original is not None:
            groups.setdefault(promise.features, []).extend([promise.point, promise.original])
    found = {digest: read_features(connection, digest) for digest in groups}
    for digest, points in groups.items():
        if any(point.shape != (len(found[digest]),) for point in points):
            raise CorruptFile("a point has another number of values than there are columns")
        check_points(np.array(points), found[digest])
    return found


def promises_frame(promises: list[Promise]) -> pd.DataFrame:
    """Put promises in a table, one line each."""
    columns = ("name", "target", "cohort", "state", "delta", "confidence", "issued", "expires", "erased")
    lines = [[getattr(promise, column) for column in columns] for promise in promises]
    # As objects: text may hold what other kinds of columns cannot.
    index = pd.Index([each.id for each in promises], name="promise", dtype=object)
    frame = pd.DataFrame(lines, columns=list(columns), index=index, dtype=object)
    dates = {name: pd.to_datetime(frame[name], utc=True) for name in ("issued", "expires")}
    return frame.assign(**dates).astype({"delta": float, "confidence": float, "erased": bool})


def points_frame(promises: list[Promise], features_by: Mapping[str, FeatureSpace]) -> pd.DataFrame:
    """Put promised points in a table in original units, one line each, by the name of the promise."""
    parts = []
    for digest in dict.fromkeys(promise.features for promise in promises):
        features, group = features_by[digest], [promise for promise in promises if promise.features == digest]
        points = np.array([promise.point for promise in group], dtype=np.float64)
        parts.append(as_pandas(features.decode(points), features).set_axis([promise.id for promise in group]))
    frame = pd.concat(parts) if parts else pd.DataFrame()
    return frame.rename_axis("promise")


def history_frame(connection: sqlite3.Connection, promise: str | None) -> pd.DataFrame:
    """Put what happened in a table, one line per entry of the chain."""
    rows = connection.execute(
        "SELECT seq, at, kind, promise, body, text FROM entries LEFT JOIN remarks USING (seq) "
        "WHERE ?1 IS NULL OR promise = ?1 ORDER BY seq",
        (promise,),
    ).fetchall()
    lines = [
        [
            seq,
            moments.read(at),
            kind,
            about or "",
            dict(read_facts(kind, body)),
            "" if text is None else read_remark(text),
        ]
        for seq, at, kind, about, body, text in rows
    ]
    frame = pd.DataFrame(lines, columns=["entry", "at", "kind", "promise", "facts", "remark"], dtype=object)
    return frame.astype({"entry": int}).assign(at=pd.to_datetime(frame["at"], utc=True)).set_index("entry")


def _promise(row: tuple[Any, ...], now: str) -> Promise:
    _, promise, at, body, state, name, target, cohort, features, point, original = row
    facts = read_facts("issued", body)
    expires = facts["expires"]
    if state in OPEN and expires is not None and expires <= now:
        state = "expired"
    content = None if name is None else read_content(name, target, cohort, original, point, features)
    return Promise(
        id=promise,
        state=state,
        issued=moments.read(at),
        expires=None if expires is None else moments.read(expires),
        delta=facts["delta"],
        confidence=facts["confidence"],
        identity=facts["identity"],
        erased=content is None,
        **({} if content is None else vars(content)),
    )
