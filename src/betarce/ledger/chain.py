"""The hash chain of a ledger: every entry is tied to all before it, and to its content by a salted commitment."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)

NO_CONTENT = ""
"""The commitment of an entry that has no content beside the chain."""

SALT_BYTES = 32


def canonical(document: Any) -> str:
    """Write plain data in the one form that digests are taken of."""
    return _ENCODER.encode(document)


def sha256(content: bytes) -> str:
    """Give the SHA-256 of bytes, as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def joint_digest(*parts: bytes) -> str:
    """Give the SHA-256 of several byte strings, told apart by their lengths.

    Examples
    --------
    >>> joint_digest(b"ab", b"c") == joint_digest(b"a", b"bc")
    False
    """
    return sha256(_joined(parts))


def new_salt() -> bytes:
    """Draw what makes a commitment impossible to guess: 32 random bytes."""
    return secrets.token_bytes(SALT_BYTES)


def commitment(salt: bytes, *parts: bytes) -> str:
    """Commit to content: without the salt, nobody can tell what it was, or even check a guess.

    Examples
    --------
    >>> commitment(b"salt", b"Anna") == commitment(b"salt", b"Anna")
    True
    >>> commitment(b"salt", b"Anna") == commitment(b"other", b"Anna")
    False
    """
    return hmac.new(salt, _joined(parts), hashlib.sha256).hexdigest()


def _joined(parts: Iterable[bytes]) -> bytes:
    return b"".join([len(part).to_bytes(8, "big") + part for part in parts])


@dataclass(frozen=True)
class Entry:
    """One link of the chain.

    Attributes
    ----------
    seq : int
        Its number, from 1.
    kind : str
        What happened: "issued", "broken", ...
    promise : str or None
        The promise that it is about.
    at : str
        When, by the clock of the machine that wrote it.
    body : str
        What may be known for ever, as canonical JSON.
    commitment : str
        To the content beside the chain; "" if it has none.
    previous : str
        The digest of the entry before; "" for the first.
    digest : str
        Of all of the above.
    """

    seq: int
    kind: str
    promise: str | None
    at: str
    body: str
    commitment: str
    previous: str
    digest: str


def link(
    previous: "Entry | None", kind: str, at: str, *, promise: str | None, body: Mapping[str, Any], committed: str
) -> Entry:
    """Make the entry that comes after another.

    Examples
    --------
    >>> first = link(None, "opened", "2026-03-01T12:00:00.000000Z", promise=None, body={}, committed="")
    >>> second = link(first, "withdrawn", "2026-03-02T12:00:00.000000Z", promise="p1", body={}, committed="")
    >>> second.seq, second.previous == first.digest, second.digest == digest_of(second)
    (2, True, True)
    """
    seq, before = (1, "") if previous is None else (previous.seq + 1, previous.digest)
    text = canonical(body)
    return Entry(
        seq, kind, promise, at, text, committed, before, _digest(seq, kind, promise, at, text, committed, before)
    )


def digest_of(entry: Entry) -> str:
    """Compute the digest that an entry must have."""
    return _digest(entry.seq, entry.kind, entry.promise, entry.at, entry.body, entry.commitment, entry.previous)


def _digest(seq: int, kind: str, promise: str | None, at: str, body: str, committed: str, previous: str) -> str:
    parts = (str(seq), kind, "" if promise is None else promise, at, body, committed, previous)
    return joint_digest(*(part.encode() for part in parts))


@dataclass(frozen=True)
class Head:
    """The end of a ledger's chain: whoever knows it can tell later whether anything before it was changed.

    Attributes
    ----------
    ledger : str
        The name that the ledger was given at random when it was opened first.
    n_entries : int
    digest : str
    at : str
        When the last entry was written.

    Examples
    --------
    >>> Head("a" * 8, 4, "b" * 64, "2026-01-31T12:00:00Z").n_entries
    4
    """

    ledger: str
    n_entries: int
    digest: str
    at: str

    def __str__(self) -> str:
        return f"{self.ledger} {self.n_entries} {self.digest} {self.at}"
