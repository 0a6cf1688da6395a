"""Reading and appending entries, inside a transaction of the caller."""

import secrets
import sqlite3
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import betarce
from betarce.errors import CorruptFile
from betarce.ledger import moments
from betarce.ledger.chain import NO_CONTENT, Entry, Head, canonical, link, sha256
from betarce.ledger.contents import read_entry, read_facts

_SKEW = timedelta(minutes=1)
_MOST_ENTRIES = 2**63  # what SQLite can number
_COLUMNS = "seq, kind, promise, at, body, commitment, previous, digest"


def last_entry(connection: sqlite3.Connection) -> Entry | None:
    """Give the entry at the end of the chain."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
    return None if row is None else read_entry(row)


def entry_at(connection: sqlite3.Connection, seq: int) -> Entry | None:
    """Give the entry with a number."""
    if not 0 < seq < _MOST_ENTRIES:
        return None
    row = connection.execute(f"SELECT {_COLUMNS} FROM entries WHERE seq = ?", (seq,)).fetchone()
    return None if row is None else read_entry(row)


def is_behind(at: str, before: str) -> bool:
    """Say whether an entry is older than the one before it by more than clocks of several machines differ."""
    return at < before and moments.read(before) - moments.read(at) > _SKEW


class Appender:
    """Adds entries to the end of the chain, one after the other.

    Parameters
    ----------
    connection : sqlite3 connection
        In a transaction that writes.
    at : datetime
        What the clock of this machine says.
    """

    def __init__(self, connection: sqlite3.Connection, at: datetime) -> None:
        self._connection = connection
        self._at = moments.written(at)
        self._last = last_entry(connection)

    @property
    def behind(self) -> str:
        """The time of the last entry, if that is well after what this clock says; else ""."""
        return self._last.at if self._last is not None and is_behind(self._at, self._last.at) else ""

    def append(
        self, kind: str, promise: str | None = None, body: Mapping[str, Any] | None = None, committed: str = NO_CONTENT
    ) -> Entry:
        """Add one entry."""
        entry = link(self._last, kind, self._at, promise=promise, body=body or {}, committed=committed)
        self._connection.execute(
            f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(entry.seq, entry.kind, entry.promise, entry.at),
                *(entry.body, entry.commitment, entry.previous, entry.digest),
            ),
        )
        self._last = entry
        return entry


def open_chain(connection: sqlite3.Connection, at: datetime) -> None:
    """Write the first entry of a new ledger: its name, drawn at random, so that no two chains are alike."""
    appender = Appender(connection, at)
    if last_entry(connection) is None:
        appender.append("opened", body={"ledger": secrets.token_hex(8), "written_by": f"betarce {betarce.__version__}"})


def read_head(connection: sqlite3.Connection) -> Head:
    """Give the end of the chain."""
    first, last = entry_at(connection, 1), last_entry(connection)
    if first is None or last is None or first.kind != "opened":
        raise CorruptFile("its chain has no beginning")
    return Head(str(read_facts(first.kind, first.body)["ledger"]), last.seq, last.digest, last.at)


def put_document(connection: sqlite3.Connection, document: Mapping[str, Any]) -> str:
    """Keep what many promises share, once; give its digest."""
    content = canonical(document)
    digest = sha256(content.encode("ascii"))
    if connection.execute("SELECT 1 FROM documents WHERE digest = ?", (digest,)).fetchone() is None:
        connection.execute("INSERT INTO documents (digest, content) VALUES (?, ?)", (digest, content))
    return digest
