"""Do the chain, what lies beside it and the statements that were handed out tell the same story?

Whoever can write to the file can compute every digest anew. What is checked here holds for every ledger that betarce
wrote, so that a forgery must be a whole ledger that could have been written; that one only an earlier head gives away.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.errors import BetarceError, CorruptFile, MissingExtra
from betarce.features import FeatureSpace
from betarce.ledger import moments
from betarce.ledger.chain import Entry, canonical, joint_digest, sha256
from betarce.ledger.contents import OUTCOMES, Content, check_points, read_content, read_facts
from betarce.ledger.envelope import Envelope
from betarce.ledger.promises import read_features, stored_envelope
from betarce.ledger.statement import Statement, read_statement, subject_of
from betarce.posterior.certificate_fields import fingerprint, plain_target
from betarce.results.files import plain_point, readable_points

Said = tuple[int, str]
"""The number of an entry, and what is wrong with it."""

_CLOSED = ("superseded", "honoured", "expired", "withdrawn")
_OF_A_RECHECK = ("broken", "expired")
_SIGNATURE = 64  # bytes of Ed25519


class Story:
    """Follows the entries of a chain, and says which one cannot come after those before it."""

    def __init__(self, outcomes_of: Callable[[int], Mapping[str, str]]) -> None:
        self._outcomes_of = outcomes_of
        self._state: dict[str, str] = {}
        self._previous: Entry | None = None
        self._recheck: tuple[int, Mapping[str, str]] = (0, {})

    def problem(self, entry: Entry) -> str:
        """Say what is wrong with the next entry; "" if nothing is."""
        try:
            facts = read_facts(entry.kind, entry.body)
            moments.read(entry.at)
            found = self._misplaced(entry, facts)
        except CorruptFile as error:
            found = str(error)
        if entry.promise is not None and entry.kind not in ("referred", "erased"):
            self._state[entry.promise] = entry.kind
        self._previous = entry
        return found

    def _misplaced(self, entry: Entry, facts: Mapping[str, Any]) -> str:
        if (entry.kind == "opened") != (self._previous is None):
            return "a ledger is opened by its first entry, and only by that"
        if entry.kind == "rechecked":
            return self._counts(entry, facts)
        if entry.promise is None:
            return ""
        state = self._state.get(entry.promise)
        if (state is None) != (entry.kind == "issued"):
            return (
                f"it is about the promise {entry.promise}, which was {'never' if state is None else 'already'} issued"
            )
        if state in _CLOSED and entry.kind != "erased":
            return f"it is about the promise {entry.promise}, which was {state} already"
        if entry.kind in _OF_A_RECHECK:
            seq, outcomes = self._recheck
            right = facts["recheck"] == seq and outcomes.get(entry.promise) == entry.kind
            return "" if right else f"no re-check before it says that the promise {entry.promise} is {entry.kind}"
        if entry.kind == "superseded":
            return self._succession(entry, facts)
        return ""

    def _counts(self, entry: Entry, facts: Mapping[str, Any]) -> str:
        outcomes = self._outcomes_of(entry.seq)
        self._recheck = (entry.seq, outcomes)
        unknown = next((promise for promise in outcomes if promise not in self._state), None)
        if unknown is not None:
            return f"it is about the promise {unknown}, which was never issued"
        said = list(outcomes.values())
        same = facts["counts"] == {outcome: said.count(outcome) for outcome in OUTCOMES}
        return "" if same else "its counts are not those of its outcomes"

    def _succession(self, entry: Entry, facts: Mapping[str, Any]) -> str:
        before = self._previous
        issued = before is not None and before.kind == "issued" and before.promise == facts["by"]
        if before is None or not issued or read_facts("issued", before.body).get("supersedes") != entry.promise:
            return f"no promise before it takes the place of the promise {entry.promise}"
        return ""


@dataclass(frozen=True, eq=False)
class Record:
    """A promise as the tables hold it: its entry, its salt, and the columns beside the chain by name."""

    entry: Entry
    salt: bytes
    columns: Mapping[str, Any]


def problems_of(records: Sequence[Record], connection: sqlite3.Connection) -> Iterator[Said]:
    """Compare what lies beside the chain with the chain and with the statements; entry 0 stands for a note."""
    groups: dict[str, list[tuple[Record, Content]]] = {}
    for record in records:
        try:
            columns = record.columns
            content = read_content(
                *(columns[name] for name in ("name", "target", "cohort", "original", "point", "features"))
            )
            groups.setdefault(content.features, []).append((record, content))
        except CorruptFile as error:
            yield record.entry.seq, str(error)
    for digest, group in groups.items():
        yield from _problems_of_group(group, digest, connection)


def _problems_of_group(
    group: Sequence[tuple[Record, Content]], digest: str, connection: sqlite3.Connection
) -> Iterator[Said]:
    try:
        features = read_features(connection, digest)
    except CorruptFile as error:
        yield group[0][0].entry.seq, str(error)
        return
    fitting = []
    for record, content in group:
        try:
            check_points(np.array([content.original, content.point]), features)
            fitting.append((record, content))
        except CorruptFile as error:
            yield record.entry.seq, str(error)
    values, why = _values([content for _, content in fitting], features)
    if why:
        yield 0, why
    for (record, content), value in zip(fitting, values, strict=True):
        try:
            what = _disagreement(record, content, value)
        except CorruptFile as error:
            what = str(error)
        if what:
            yield record.entry.seq, what


def _values(contents: Sequence[Content], features: FeatureSpace) -> tuple[list[dict[str, Any] | None], str]:
    """Give promised points in original units, or the reason why that cannot be done here."""
    try:
        return readable_points([content.point for content in contents], features), ""
    except MissingExtra as error:
        return [None] * len(contents), f"the values of points in statements were not compared: {error}"
    except (BetarceError, ValueError, OverflowError) as error:
        raise CorruptFile(f"promised points cannot be written in original units: {error}") from error


def _disagreement(record: Record, content: Content, values: dict[str, Any] | None) -> str:
    """Say where a statement differs from the chain or from what lies beside it."""
    columns, facts = record.columns, read_facts("issued", record.entry.body)
    envelope = stored_envelope(columns["statement"], columns["signatures"])
    statement = read_statement(envelope.payload)
    vote = statement.certificate
    expires = None if statement.expires is None else moments.written(statement.expires)
    key = joint_digest(
        *(facts["identity"].encode(), columns["name"].encode(), columns["target"].encode()),
        *(columns["original"], columns["point"]),
    )
    same = {
        "name of its promise": statement.promise == record.entry.promise,
        "delta": vote.guarantee.delta == facts["delta"],
        "confidence": vote.guarantee.confidence == facts["confidence"],
        "end": expires == facts["expires"],
        "identity": sha256(canonical(dict(statement.identity)).encode("ascii")) == facts["identity"],
        "target": canonical(plain_target(vote.target)) == columns["target"],
        "point": _is_point(statement, content, record.salt, values),
        "signer": _is_signed(statement, envelope),
    }
    other = [name for name, is_same in same.items() if not is_same]
    if other:
        return f"its statement has another {other[0]} than the ledger"
    return "" if key == columns["key"] else "the key of its content is not that of its content"


def _is_point(statement: Statement, content: Content, salt: bytes, values: dict[str, Any] | None) -> bool:
    point = content.point
    exact = plain_point(point)
    told = statement.point
    if values is None:  # nothing here can write them
        return told is None or canonical(told["exact"]) == canonical(exact)
    whole = {"values": values, "exact": exact}
    if told is None:
        return statement.subject == subject_of(whole, salt)
    return canonical(dict(told)) == canonical(whole) and statement.certificate.point == fingerprint(point)


def _is_signed(statement: Statement, envelope: Envelope) -> bool:
    wanted = [statement.signer] if statement.signer else []
    return [each.keyid for each in envelope.signatures] == wanted and all(
        len(each.sig) == _SIGNATURE for each in envelope.signatures
    )
