"""What happens to promises after their issue: withdrawn, honoured, referred, erased."""

import sqlite3
from collections.abc import Sequence

from betarce.errors import InvalidInput
from betarce.ledger.chain import NO_CONTENT, canonical, commitment, new_salt
from betarce.ledger.entries import Appender
from betarce.ledger.promises import OPEN, Promise


def close_promises(
    connection: sqlite3.Connection, appender: Appender, promises: Sequence[Promise], kind: str, reason: str
) -> None:
    """Put on record that promises were withdrawn, honoured or referred; all of them or none."""
    for promise in promises:
        if promise.erased and reason:
            raise InvalidInput(
                f"`reason` must be empty for what was erased: nothing more is written down about {promise.id}. Nothing "
                "was recorded."
            )
        if promise.state not in OPEN:
            raise InvalidInput(
                f"`promise` must be open to be {kind}; {promise.id} is {promise.state} already. Nothing was recorded."
            )
        append_remark(connection, appender, kind, promise.id, reason)


def append_remark(connection: sqlite3.Connection, appender: Appender, kind: str, promise: str, reason: str) -> None:
    """Append an entry with a remark beside the chain: people write names into remarks."""
    if not isinstance(reason, str):
        raise InvalidInput(f"`reason` must be text; got {reason!r}.")
    if not reason:
        appender.append(kind, promise)
        return
    salt, text = new_salt(), canonical(reason)
    entry = appender.append(kind, promise, committed=commitment(salt, text.encode()))
    connection.execute("INSERT INTO remarks (seq, salt, text) VALUES (?, ?, ?)", (entry.seq, salt, text))


def erase_promises(connection: sqlite3.Connection, appender: Appender, promises: Sequence[Promise]) -> int:
    """Delete all that is personal of some promises, and put on record that this was done.

    The salts go, too, so that the commitments that stay in the chain say nothing any more.

    Returns
    -------
    int
        How many promises had something to erase.
    """
    told = [promise for promise in promises if not promise.erased]
    for promise in told:
        appender.append("erased", promise.id, committed=NO_CONTENT)
        for table in ("promises", "remarks"):
            connection.execute(
                f"DELETE FROM {table} WHERE seq IN (SELECT seq FROM entries WHERE promise = ?)", (promise.id,)
            )
    return len(told)
