"""Is a ledger what it was when it was written? The whole chain again, entry by entry."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from betarce.errors import CorruptFile
from betarce.ledger.agreement import Record, Story, problems_of
from betarce.ledger.chain import NO_CONTENT, SALT_BYTES, Entry, Head, commitment, digest_of, joint_digest, sha256
from betarce.ledger.contents import read_entry, read_remark
from betarce.ledger.entries import is_behind
from betarce.ledger.recording import CONTENT, committed_to

_WIDTH = 8  # columns of an entry
_DIGEST = re.compile("[0-9a-f]{64}")
_REMARKED = ("withdrawn", "honoured", "referred")
_TOGETHER = 1000  # promises whose statements are read at once
_CONTENT = ", ".join(f"promises.{column}" for column in CONTENT)
_ALL = (
    "SELECT entries.seq, kind, promise, at, body, commitment, previous, digest, "
    f"promises.salt, {_CONTENT}, remarks.salt, remarks.text "
    "FROM entries LEFT JOIN promises USING (seq) LEFT JOIN remarks USING (seq) ORDER BY entries.seq"
)
_ERASED = "SELECT promise FROM entries WHERE kind = 'erased'"


@dataclass(frozen=True)
class Problem:
    """Something in a ledger that is not as it was written.

    Attributes
    ----------
    entry : int
        The number of the entry; 0 for what lies beside the chain.
    what : str

    Examples
    --------
    >>> Problem(3, "its digest does not fit its content").entry
    3
    """

    entry: int
    what: str

    def __str__(self) -> str:
        return f"entry {self.entry}: {self.what}" if self.entry else self.what


@dataclass(frozen=True)
class Integrity:
    """What a check of the whole chain found.

    Attributes
    ----------
    head : Head
    problems : tuple of Problem
        Empty if nothing was changed.
    notes : tuple of Problem
        What is odd but valid: an entry whose clock was behind.
    n_erased : int
        Promises whose content was erased on request.

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
    >>> found = ledger.verify()
    >>> found.problems, found.n_erased
    ((), 0)
    >>> ledger.close()
    """

    head: Head
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    n_erased: int

    @property
    def intact(self) -> bool:
        """Whether nothing was changed."""
        return not self.problems

    def __str__(self) -> str:
        state = "intact" if self.intact else f"{len(self.problems)} problems, the first in {self.problems[0]}"
        return f"{self.head.n_entries} entries, {self.n_erased} promises erased on request: {state}"


def check_chain(connection: sqlite3.Connection, head: Head) -> Integrity:
    """Compute every digest and every commitment again, and compare the chain with what lies beside it."""
    damage = list(_damage(connection))
    if damage:  # nothing that a damaged file gives can be relied on
        return Integrity(head, tuple(damage), (), 0)
    erased = {promise for (promise,) in connection.execute(_ERASED)}
    problems, notes, records = list(_loose_ends(connection)), list[Problem](), list[Record]()
    story = Story(lambda seq: _outcomes(connection, seq))
    previous: Entry | None = None
    for row in connection.execute(_ALL):
        entry, beside = read_entry(row[:_WIDTH]), row[_WIDTH:]
        found = [_link_problem(entry, previous), _content_problem(entry, beside, erased)]
        if entry.kind == "rechecked" and not found[0]:
            found.append(_outcome_problem(connection, entry))
        found.append(story.problem(entry))
        problems += [Problem(entry.seq, what) for what in found if what]
        if previous is not None and not found[-1] and is_behind(entry.at, previous.at):
            notes.append(
                Problem(entry.seq, f"its clock ({entry.at}) was behind that of the entry before ({previous.at})")
            )
        previous = entry
        if beside[0] is not None and not any(found):
            records.append(Record(entry, beside[0], dict(zip(CONTENT, beside[1:], strict=False))))
        if len(records) == _TOGETHER:
            _compare(records, connection, problems, notes)
    _compare(records, connection, problems, notes)
    return Integrity(head, tuple(sorted(problems, key=lambda each: each.entry)), tuple(notes), len(erased))


def _compare(
    records: list[Record], connection: sqlite3.Connection, problems: list[Problem], notes: list[Problem]
) -> None:
    """Hold promises against their statements, and let go of them."""
    for seq, what in problems_of(records, connection):
        (problems if seq else notes).append(Problem(seq, what))
    records.clear()


def _link_problem(entry: Entry, previous: Entry | None) -> str:
    number, before = (1, "") if previous is None else (previous.seq + 1, previous.digest)
    if entry.seq != number:
        return f"the entries from {number} to {entry.seq - 1} are missing"
    if entry.previous != before:
        return "it does not follow the entry before it: one of the two was exchanged"
    if entry.digest != digest_of(entry):
        return f"it was changed: its {entry.kind!r} does not match its digest"
    return ""


def _content_problem(entry: Entry, beside: tuple[Any, ...], erased: set[str]) -> str:
    n = 1 + len(CONTENT)
    (salt, *content), (remark_salt, remark) = beside[:n], beside[n:]
    of_other_kind = (salt is not None and entry.kind != "issued") or (
        remark_salt is not None and entry.kind not in _REMARKED
    )
    if of_other_kind or not _commits(entry):
        return f"no {entry.kind!r} entry has such content"
    if salt is None and remark_salt is None:
        if entry.commitment == NO_CONTENT or entry.kind == "rechecked" or entry.promise in erased:
            return ""
        return "its content is gone, and no erasure is on record"
    if entry.promise in erased:
        return "its content is still there, though it was erased"
    true = committed_to(salt, content) if salt is not None else commitment(remark_salt, remark.encode())
    if true != entry.commitment or len(remark_salt if salt is None else salt) != SALT_BYTES:
        return "its content was changed: it does not match the commitment"
    try:
        if salt is None:
            read_remark(remark)
    except CorruptFile as error:
        return str(error)
    return ""


def _commits(entry: Entry) -> bool:
    """Say whether an entry commits to content if its kind has content."""
    if entry.commitment == NO_CONTENT:
        return entry.kind not in ("issued", "rechecked")
    return entry.kind in ("issued", "rechecked", *_REMARKED) and _DIGEST.fullmatch(entry.commitment) is not None


def _outcomes(connection: sqlite3.Connection, seq: int) -> dict[str, str]:
    return dict(connection.execute("SELECT promise, outcome FROM outcomes WHERE recheck = ?", (seq,)).fetchall())


def _outcome_problem(connection: sqlite3.Connection, entry: Entry) -> str:
    same = outcomes_digest(_outcomes(connection, entry.seq)) == entry.commitment
    return "" if same else "its outcomes were changed: they do not match the commitment"


def outcomes_digest(outcomes: Mapping[str, str]) -> str:
    """Give the digest of what became of each promise in one re-check."""
    return joint_digest(*(f"{promise} {outcome}".encode() for promise, outcome in sorted(outcomes.items())))


def _loose_ends(connection: sqlite3.Connection) -> Iterator[Problem]:
    for digest, content in connection.execute("SELECT digest, content FROM documents"):
        if sha256(content.encode()) != digest:
            yield Problem(0, f"the document {digest[:16]}... was changed: it does not match its digest")
    for table, parent, row, _ in connection.execute("PRAGMA foreign_key_check"):
        yield Problem(0, f"row {row} of {table} refers to something in {parent} that is not there")


def _damage(connection: sqlite3.Connection) -> Iterator[Problem]:
    [(verdict,), *_] = connection.execute("PRAGMA quick_check(1)").fetchall()
    if verdict != "ok":
        yield Problem(0, f"the file is damaged: {verdict}")
