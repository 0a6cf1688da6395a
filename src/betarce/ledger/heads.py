"""The head of a chain as a file that can be signed, kept elsewhere, and compared later."""

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from betarce.errors import CorruptFile, InvalidInput
from betarce.ledger import moments
from betarce.ledger.chain import Head, canonical
from betarce.ledger.entries import entry_at
from betarce.ledger.envelope import Envelope, check_in_toto, read_envelope
from betarce.ledger.integrity import Integrity, Problem
from betarce.ledger.keys import PublicKey, SigningKey
from betarce.ledger.statement import STATEMENT
from betarce.storage.documents import parse_json
from betarce.storage.files import MOST_BYTES_BY_HAND, read_text, write_whole

HEAD = "urn:betarce:ledger-head:v1"


def save_head(head: Head, path: str | os.PathLike[str], *, key: SigningKey | None = None) -> None:
    """Write the head of a ledger as an in-toto statement in an envelope, signed if there is a key.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from betarce import Ledger
    >>> ledger = Ledger(pathlib.Path(tempfile.mkdtemp()) / "promises.db")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "head.json"
    >>> save_head(ledger.head(), path)
    >>> load_head(path) == ledger.head()
    True
    >>> ledger.close()
    """
    document = {
        "_type": STATEMENT,
        "subject": [{"name": f"ledger/{head.ledger}", "digest": {"sha256": head.digest}}],
        "predicateType": HEAD,
        "predicate": asdict(head),
    }
    envelope = Envelope(canonical(document).encode("ascii"))
    write_whole(path, canonical((envelope if key is None else envelope.signed(key)).to_plain()) + "\n")


def load_head(path: str | os.PathLike[str], *, keys: Sequence[PublicKey] = ()) -> Head:
    """Read a head; with keys, refuse one that none of them has signed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from betarce import Ledger
    >>> ledger = Ledger(pathlib.Path(tempfile.mkdtemp()) / "promises.db")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "head.json"
    >>> save_head(ledger.head(), path)
    >>> load_head(path) == ledger.head()
    True
    >>> ledger.close()
    """
    try:
        envelope = read_envelope(read_text(path, most=MOST_BYTES_BY_HAND))
        check_in_toto(envelope)
        if keys:
            envelope.check_signatures(keys)
        return _head(parse_json(envelope.payload.decode("ascii", "backslashreplace")))
    except (FileNotFoundError, IsADirectoryError):
        raise InvalidInput(f"`path` must name a file; there is none at {os.fspath(path)!r}.") from None
    except CorruptFile as error:
        raise CorruptFile(f"{os.fspath(path)!r} is not a usable head of a ledger: {error}.") from error


def _head(document: Any) -> Head:
    match document:
        case {
            "_type": "https://in-toto.io/Statement/v1",
            "predicateType": "urn:betarce:ledger-head:v1",
            "subject": [{"name": str(name), "digest": {"sha256": str(stated)}}],
            "predicate": {"ledger": str(ledger), "n_entries": int(n), "digest": str(digest), "at": str(at), **rest},
        } if not rest and stated == digest and name == f"ledger/{ledger}":
            moments.read(at)
            return Head(ledger, n, digest, at)
    raise CorruptFile("it says something else than the head of a ledger, or says it twice and differently")


def check_head(connection: sqlite3.Connection, found: Integrity, head: Head) -> Integrity:
    """Add to what was found in a chain whether it goes on from an earlier head."""
    if not isinstance(head, Head):
        raise InvalidInput(f"`head` must be the head of a ledger, as `Ledger.head` gives; got {head!r}.")
    what = ""
    if head.ledger != found.head.ledger:
        what = f"the head is that of another ledger: {head.ledger}, not {found.head.ledger}"
    elif head.n_entries > found.head.n_entries:
        what = f"the entries from {found.head.n_entries + 1} to {head.n_entries} are missing: the head has them"
    elif (entry := entry_at(connection, head.n_entries)) is None or entry.digest != head.digest:
        what = f"the chain was rewritten at or before entry {head.n_entries}: it does not lead to the head"
    return found if not what else replace(found, problems=(*found.problems, Problem(0, what)))
