"""Change a ledger behind its back, as whoever has the file can: triggers put back, every digest computed anew."""

import sqlite3
from contextlib import closing
from dataclasses import replace

from betarce.ledger.chain import Entry, commitment, digest_of
from betarce.ledger.integrity import outcomes_digest
from betarce.ledger.recording import CONTENT, committed_to

ENTRY = "seq, kind, promise, at, body, commitment, previous, digest"


def forge(path, change, *, anew=True):
    """Let `change` do what it wants with an open connection; then compute commitments and the chain anew."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        change(connection)
        if anew:
            chain_anew(connection)
        for _, sql in triggers:
            connection.execute(sql)


def chain_anew(connection):
    previous = ""
    for row in connection.execute(f"SELECT {ENTRY} FROM entries ORDER BY seq").fetchall():
        entry = replace(Entry(*row), previous=previous, commitment=_commitment(connection, Entry(*row)))
        previous = digest_of(entry)
        connection.execute(
            "UPDATE entries SET commitment = ?, previous = ?, digest = ? WHERE seq = ?",
            (entry.commitment, entry.previous, previous, entry.seq),
        )


def _commitment(connection, entry):
    content = connection.execute(f"SELECT salt, {', '.join(CONTENT)} FROM promises WHERE seq = ?", (entry.seq,))
    remark = connection.execute("SELECT salt, text FROM remarks WHERE seq = ?", (entry.seq,)).fetchone()
    if (row := content.fetchone()) is not None:
        return committed_to(row[0], row[1:])
    if remark is not None:
        return commitment(remark[0], remark[1].encode())
    if entry.kind == "rechecked":
        found = connection.execute("SELECT promise, outcome FROM outcomes WHERE recheck = ?", (entry.seq,))
        return outcomes_digest(dict(found.fetchall()))
    return entry.commitment
